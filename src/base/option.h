/*
 * base/option.h - the one option table: command line, help, manual, shell completion and scenario options.
 *
 * A table is an array of struct fl_option. Values live apart, in a struct fl_option_set that is made for a table, so
 * that the same table parses many times. The command line fills a set through fl_option_parse (getopt_long rules:
 * abbreviations are refused, "--" ends options), `--set key=value` fills the set of a scenario through
 * fl_option_assign. All refusals are sentences of class INPUT that name the word, what was expected, and the nearest
 * valid name.
 */
#ifndef FL_BASE_OPTION_H
#define FL_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum fl_option_kind {
	FL_OPTION_FLAG,     /* no argument on the command line; never in a scenario */
	FL_OPTION_BOOL,     /* yes/no, true/false, on/off, 1/0 */
	FL_OPTION_INT,      /* whole number in [min, max] */
	FL_OPTION_SIZE,     /* bytes: 64G; in [min, max], a multiple of `multiple` */
	FL_OPTION_DURATION, /* nanoseconds: 100ms; in [min, max] */
	FL_OPTION_STRING,
	FL_OPTION_LIST,     /* string, may be given again; all are kept in order */
	FL_OPTION_CHOICE,   /* one of `choices` */
};

struct fl_option {
	const char *name;            /* long name without dashes, or key of a scenario option */
	char letter;                 /* short form, 0: none */
	enum fl_option_kind kind;
	const char *value_name;      /* as in "SIZE"; NULL: by kind */
	const char *default_text;    /* read like a value that is typed; NULL: none (numbers 0, text NULL) */
	const char *help;            /* one clause, lower case, no full stop */
	const char *category;        /* heading in help and manual; NULL: "Options" */
	int64_t min, max;            /* both 0: any value of the kind (sizes and durations: 0 up) */
	int64_t multiple;            /* sizes; 0: any */
	const char *const *choices;  /* NULL-terminated; FL_OPTION_CHOICE, and completion of FL_OPTION_STRING */
	bool hidden;                 /* left out of help and manual */
	bool once;                   /* LIST: help does not invite to repeat it; the command refuses a second */
};

struct fl_option_value {
	bool given;      /* by the user, not by default_text */
	int64_t number;  /* INT, SIZE in bytes, DURATION in ns, FLAG and BOOL as 0/1, CHOICE as index */
	char *text;      /* as typed (STRING, CHOICE, and the others too); NULL: no value */
	char **list;     /* LIST */
	size_t list_count;
};

struct fl_option_set {
	const struct fl_option *table; /* not owned, must outlive the set */
	size_t count;
	struct fl_option_value *values; /* one for each row of the table */
};

/* Makes a set with the defaults of the table. A default that does not parse is a bug of the table (assertion). */
void fl_option_set_init(struct fl_option_set *set, const struct fl_option *table, size_t count);
void fl_option_set_fini(struct fl_option_set *set);

/* Checks a table that was read from a file (a scenario): -EINVAL if a default does not fit its own row. */
int fl_option_table_check(const struct fl_option *table, size_t count, struct fl_error *reterr);

/*
 * Reads `text` into the row `name`. `what` says in errors whose option it is ("option of scenario type-pressure").
 * assign takes "key=value".
 */
int fl_option_set_text(struct fl_option_set *set, const char *what, const char *name, const char *text,
		       struct fl_error *reterr);
int fl_option_assign(struct fl_option_set *set, const char *what, const char *assignment, struct fl_error *reterr);

/*
 * Reads a command line: argv[0] is the command's name (for errors). Options and operands may mix. Operands are moved
 * to the end of argv, *ret_operands is the index of the first. On an error the set is partly filled.
 */
int fl_option_parse(struct fl_option_set *set, int argc, char **argv, int *ret_operands, struct fl_error *reterr);

/* Values by name; a name that the table lacks, or another kind, is a bug (assertion). */
const struct fl_option_value *fl_option_value(const struct fl_option_set *set, const char *name);
int64_t fl_option_number(const struct fl_option_set *set, const char *name); /* INT, SIZE, DURATION */
bool fl_option_is(const struct fl_option_set *set, const char *name);        /* FLAG, BOOL */
const char *fl_option_text(const struct fl_option_set *set, const char *name); /* STRING, CHOICE; may be NULL */
bool fl_option_given(const struct fl_option_set *set, const char *name);

/* Name of the argument in help: "SIZE", "N", "sim|live", ... */
const char *fl_option_value_name(const struct fl_option *option);

#endif
