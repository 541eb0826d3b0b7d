/*
 * mm/pfn_list.h - private lists of frames that are on no list of the machine: isolated folios and migration targets.
 *
 * Linked through the frames' own `next` and `prev`, ended by FL_PFN_NONE, headed by a struct of the owner: any number
 * of compactors and reclaimers can have some at a time. A frame is on at most one.
 */
#ifndef FL_MM_PFN_LIST_H
#define FL_MM_PFN_LIST_H

#include "mm/frame.h"

struct fl_pfn_list {
	fl_pfn first, last;
	uint32_t count; /* frames, not pages */
};

#define FL_PFN_LIST_EMPTY { FL_PFN_NONE, FL_PFN_NONE, 0 }

static inline void fl_pfn_list_init(struct fl_pfn_list *list)
{
	*list = (struct fl_pfn_list)FL_PFN_LIST_EMPTY;
}

static inline bool fl_pfn_list_empty(const struct fl_pfn_list *list)
{
	return list->first == FL_PFN_NONE;
}

/* Adds at the front: list_add(). */
static inline void fl_pfn_list_add(struct fl_frames *f, struct fl_pfn_list *list, fl_pfn pfn)
{
	f->record[pfn].prev = FL_PFN_NONE;
	f->record[pfn].next = list->first;
	if (list->first != FL_PFN_NONE)
		f->record[list->first].prev = pfn;
	else
		list->last = pfn;
	list->first = pfn;
	list->count++;
}

/* Adds at the back: list_add_tail(). */
static inline void fl_pfn_list_add_tail(struct fl_frames *f, struct fl_pfn_list *list, fl_pfn pfn)
{
	f->record[pfn].next = FL_PFN_NONE;
	f->record[pfn].prev = list->last;
	if (list->last != FL_PFN_NONE)
		f->record[list->last].next = pfn;
	else
		list->first = pfn;
	list->last = pfn;
	list->count++;
}

/* Adds in front of `next`, which is on the list, or FL_PFN_NONE for the back. */
static inline void fl_pfn_list_insert_before(struct fl_frames *f, struct fl_pfn_list *list, fl_pfn next, fl_pfn pfn)
{
	fl_pfn prev;

	if (next == FL_PFN_NONE) {
		fl_pfn_list_add_tail(f, list, pfn);
		return;
	}
	prev = f->record[next].prev;
	if (prev == FL_PFN_NONE) {
		fl_pfn_list_add(f, list, pfn);
		return;
	}
	f->record[pfn].prev = prev;
	f->record[pfn].next = next;
	f->record[prev].next = pfn;
	f->record[next].prev = pfn;
	list->count++;
}

static inline void fl_pfn_list_del(struct fl_frames *f, struct fl_pfn_list *list, fl_pfn pfn)
{
	fl_pfn next = f->record[pfn].next, prev = f->record[pfn].prev;

	if (prev != FL_PFN_NONE)
		f->record[prev].next = next;
	else
		list->first = next;
	if (next != FL_PFN_NONE)
		f->record[next].prev = prev;
	else
		list->last = prev;
	list->count--;
}

/* Takes the first frame off, or returns FL_PFN_NONE. */
static inline fl_pfn fl_pfn_list_pop(struct fl_frames *f, struct fl_pfn_list *list)
{
	fl_pfn pfn = list->first;

	if (pfn != FL_PFN_NONE)
		fl_pfn_list_del(f, list, pfn);
	return pfn;
}

/* Moves all of `from` behind the last of `to`: list_splice_tail_init(). */
static inline void fl_pfn_list_splice_tail(struct fl_frames *f, struct fl_pfn_list *to, struct fl_pfn_list *from)
{
	if (fl_pfn_list_empty(from))
		return;
	if (fl_pfn_list_empty(to)) {
		*to = *from;
	} else {
		f->record[to->last].next = from->first;
		f->record[from->first].prev = to->last;
		to->last = from->last;
		to->count += from->count;
	}
	fl_pfn_list_init(from);
}

#endif
