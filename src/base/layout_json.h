/* base/layout_json.h - the snapshot as a document. */
#ifndef FL_BASE_LAYOUT_JSON_H
#define FL_BASE_LAYOUT_JSON_H

#include "base/json.h"
#include "base/layout.h"

/* The document. json_decref() it. */
json_t *fl_layout_json(const struct fl_layout *layout);
/* Is this object such a document (by its schema)? */
bool fl_layout_is(const json_t *root);
/* Reads and checks it: -EINVAL with a sentence. *ret is initialised by this and needs fl_layout_fini() after success. */
int fl_layout_read(const json_t *root, struct fl_layout *ret, struct fl_error *reterr);

#endif
