/* kernel/patch_mobility_capture.c - a non-movable capture of whole movable pageblocks converts them. */
#include "kernel/base_decisions.h"
#include "kernel/patches.h"

static enum fl_capture_verdict capture_block(const struct fl_capture_facts *facts)
{
	enum fl_capture_verdict verdict = fl_base_capture_keep(facts);

	if (verdict == FL_CAPTURE_TAKE && facts->order >= facts->pageblock_order && facts->block_type == FL_MOVABLE &&
	    facts->want != FL_MOVABLE)
		return FL_CAPTURE_RETYPE;
	return verdict;
}

const struct fl_patch fl_patch_mobility_capture = {
	.name = "mobility-capture",
	.set = "mobility",
	.summary = "non-movable capture of a movable block converts it",
	.source = "RFC 5/5 of \"keep non-movable pages out of movable pageblocks\", October 2026",
	.with = { .capture_block = capture_block },
};
