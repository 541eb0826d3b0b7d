/*
 * observe/read_host.h - the reader of a host or of a directory laid out like one.
 *
 * Under `root`: proc/ and sys/ as a live host has them ("" or "/" is this host), or a sosreport (proc/, sys/,
 * sos_commands/, var/log/). Every file is optional; what is there goes through the text reader into one state, kernel
 * logs into requests.
 */
#ifndef FL_OBSERVE_READ_HOST_H
#define FL_OBSERVE_READ_HOST_H

#include "observe/snapshot.h"

/*
 * Class INPUT when the directory is missing or has none of these files. Files of a live host that exist but may not be
 * read become warnings that say which figures are missing and why.
 */
int fl_mem_read_host(const char *root, struct fl_mem_report *report, struct fl_error *reterr);

#endif
