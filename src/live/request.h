/*
 * live/request.h - a request taken apart: the settings that a run writes before it starts, in order.
 *
 * Private to this room.
 */
#ifndef FL_LIVE_REQUEST_H
#define FL_LIVE_REQUEST_H

#include "live/setting.h"
#include "machine/verbs.h"

#define FL_LIVE_SETTINGS_MAX 64
struct fl_live_settings {
	struct {
		char name[64], value[64];
		bool of_scenario;   /* else of the kernel notation */
		bool is_model_only; /* disk.*: nothing of a live kernel */
	} list[FL_LIVE_SETTINGS_MAX];
	unsigned int count;
};

/* Those of the scenario, then those of the notation. Class INPUT for a bad notation. */
int fl_live_settings_of(const struct fl_backend_request *request, struct fl_live_settings *ret, struct fl_error *reterr);

/* Are they there, would they take the values, may they be written? */
int fl_live_settings_check(const struct fl_live_settings *settings, struct fl_error *reterr);

#endif
