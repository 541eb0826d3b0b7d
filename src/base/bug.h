/*
 * base/bug.h - assertions that stay on.
 *
 * A bug of ours is never an error code: FL_ASSERT prints what was violated, where, and the context that replays the
 * run (set once by the program), then aborts. Errors of the world or of the user are base/error.h.
 * The model (sim, mm, kernel) calls nothing but fl_bug() from here; printing is done by the handler of the program.
 */
#ifndef FL_BASE_BUG_H
#define FL_BASE_BUG_H

#define FL_LIKELY(x) __builtin_expect(!!(x), 1)
#define FL_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Reports a violated condition at file:line and aborts; never returns. */
void fl_bug(const char *file, int line, const char *condition, const char *what) __attribute__((noreturn, cold));

/* What to print before aborting: one or more lines that say how to replay (seed, command). Copied; may be NULL. */
void fl_bug_set_context(const char *context);

#define FL_ASSERT(cond) (FL_LIKELY(cond) ? (void)0 : fl_bug(__FILE__, __LINE__, #cond, ""))
#define FL_ASSERT_MSG(cond, what) (FL_LIKELY(cond) ? (void)0 : fl_bug(__FILE__, __LINE__, #cond, (what)))

#endif
