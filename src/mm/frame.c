/* mm/frame.c - list heads and the head of a chunk. */
#include "mm/frame.h"

uint32_t fl_frames_new_head(struct fl_frames *f)
{
	uint32_t head = f->count + f->heads;

	FL_ASSERT(f->heads < f->heads_max);
	f->heads++;
	f->state[head] = fl_state(FL_KIND_LISTHEAD, 0);
	fl_list_init(f, head);
	return head;
}

/* The pages below pfn, from the next alignment down. */
fl_pfn fl_frame_head_below(const struct fl_frames *f, fl_pfn pfn)
{
	for (unsigned int order = 1; order < FL_MAX_ORDERS; order++) {
		fl_pfn head = pfn & ~((1u << order) - 1);
		uint32_t state = f->state[head];

		if (fl_state_kind(state) != FL_KIND_INTERIOR)
			return pfn - head < 1u << fl_state_order(state) ? head : FL_PFN_NONE;
	}
	return FL_PFN_NONE;
}
