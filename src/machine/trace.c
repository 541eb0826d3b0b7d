/*
 * machine/trace.c - trace events as text. Field names and their order are those of the "print fmt" lines that a 6.18
 * kernel shows in /sys/kernel/tracing/events, without addresses ("page=", "mm="): the model has none.
 */
#include "machine/trace.h"

#include <inttypes.h>

static const struct {
	fl_gfp mask;
	const char *name;
} gfp_names[] = {
	{ FL_GFP_TRANSHUGE, "GFP_TRANSHUGE" },
	{ FL_GFP_TRANSHUGE_LIGHT, "GFP_TRANSHUGE_LIGHT" },
	{ FL_GFP_HIGHUSER_MOVABLE, "GFP_HIGHUSER_MOVABLE" },
	{ FL_GFP_HIGHUSER, "GFP_HIGHUSER" },
	{ FL_GFP_KERNEL | FL_GFP_ACCOUNT, "GFP_KERNEL_ACCOUNT" },
	{ FL_GFP_KERNEL, "GFP_KERNEL" },
	{ FL_GFP_NOFS, "GFP_NOFS" },
	{ FL_GFP_ATOMIC, "GFP_ATOMIC" },
	{ FL_GFP_NOIO, "GFP_NOIO" },
	{ FL_GFP_NOWAIT, "GFP_NOWAIT" },
	{ FL_GFP_DMA, "GFP_DMA" },
	{ FL_GFP_HIGHMEM, "__GFP_HIGHMEM" },
	{ FL_GFP_DMA32, "GFP_DMA32" },
	{ FL_GFP_RECLAIM, "__GFP_RECLAIM" },
	{ FL_GFP_DIRECT_RECLAIM, "__GFP_DIRECT_RECLAIM" },
	{ FL_GFP_KSWAPD_RECLAIM, "__GFP_KSWAPD_RECLAIM" },
	{ FL_GFP_HIGH, "__GFP_HIGH" },
	{ FL_GFP_IO, "__GFP_IO" },
	{ FL_GFP_FS, "__GFP_FS" },
	{ FL_GFP_NOWARN, "__GFP_NOWARN" },
	{ FL_GFP_RETRY_MAYFAIL, "__GFP_RETRY_MAYFAIL" },
	{ FL_GFP_NOFAIL, "__GFP_NOFAIL" },
	{ FL_GFP_NORETRY, "__GFP_NORETRY" },
	{ FL_GFP_COMP, "__GFP_COMP" },
	{ FL_GFP_ZERO, "__GFP_ZERO" },
	{ FL_GFP_NOMEMALLOC, "__GFP_NOMEMALLOC" },
	{ FL_GFP_MEMALLOC, "__GFP_MEMALLOC" },
	{ FL_GFP_THISNODE, "__GFP_THISNODE" },
	{ FL_GFP_RECLAIMABLE_BIT, "__GFP_RECLAIMABLE" },
	{ FL_GFP_MOVABLE_BIT, "__GFP_MOVABLE" },
	{ FL_GFP_ACCOUNT, "__GFP_ACCOUNT" },
	{ FL_GFP_WRITE, "__GFP_WRITE" },
};

void fl_trace_gfp(fl_gfp gfp, struct fl_text *to)
{
	const char *bar = "";

	if (!gfp)
		fl_text_add(to, "none");
	for (size_t i = 0; i < sizeof(gfp_names) / sizeof(*gfp_names) && gfp; i++) {
		if ((gfp & gfp_names[i].mask) != gfp_names[i].mask)
			continue;
		fl_text_add(to, "%s%s", bar, gfp_names[i].name);
		gfp &= ~gfp_names[i].mask;
		bar = "|";
	}
	if (gfp)
		fl_text_add(to, "%s0x%x", bar, gfp);
}

/*
 * The fields of each event. "%0d" prints argument 0: d decimal, x hexadecimal, p pfn (0 for none), g gfp flags, z zone name,
 * c compaction result, m sync or async, s 1 << argument, f is the order below the pageblock order, l anon or file;
 * "%b" is the pageblock order.
 */
static const char *const formats[FL_TRACE_COUNT] = {
	[FL_TRACE_mm_page_alloc] = "pfn=0x%0p order=%1d migratetype=%2d gfp_flags=%3g",
	[FL_TRACE_mm_page_free] = "pfn=0x%0x order=%1d",
	[FL_TRACE_mm_page_alloc_zone_locked] = "pfn=0x%0p order=%1d migratetype=%2d percpu_refill=%3d",
	[FL_TRACE_mm_page_pcpu_drain] = "pfn=0x%0x order=%1d migratetype=%2d",
	[FL_TRACE_mm_page_alloc_extfrag] =
		("pfn=0x%0x alloc_order=%1d fallback_order=%2d pageblock_order=%b alloc_migratetype=%3d "
		 "fallback_migratetype=%4d fragmenting=%2f change_ownership=%5d"),
	[FL_TRACE_mm_compaction_begin] = "zone_start=0x%0x migrate_pfn=0x%1x free_pfn=0x%2x zone_end=0x%3x, mode=%4m",
	[FL_TRACE_mm_compaction_end] =
		"zone_start=0x%0x migrate_pfn=0x%1x free_pfn=0x%2x zone_end=0x%3x, mode=%4m status=%5c",
	[FL_TRACE_mm_compaction_migratepages] = "nr_migrated=%0d nr_failed=%1d",
	[FL_TRACE_mm_compaction_try_to_compact_pages] = "order=%0d gfp_mask=%1g priority=%2d",
	[FL_TRACE_mm_compaction_finished] = "node=0 zone=%0z order=%1d ret=%2c",
	[FL_TRACE_mm_compaction_suitable] = "node=0 zone=%0z order=%1d ret=%2c",
	[FL_TRACE_mm_compaction_deferred] = "node=0 zone=%0z order=%1d order_failed=%2d consider=%3d limit=%4s",
	[FL_TRACE_mm_compaction_defer_compaction] = "node=0 zone=%0z order=%1d order_failed=%2d consider=%3d limit=%4s",
	[FL_TRACE_mm_compaction_defer_reset] = "node=0 zone=%0z order=%1d order_failed=%2d consider=%3d limit=%4s",
	[FL_TRACE_mm_compaction_wakeup_kcompactd] = "nid=0 order=%0d classzone_idx=%1z",
	[FL_TRACE_mm_compaction_kcompactd_wake] = "nid=0 order=%0d classzone_idx=%1z",
	[FL_TRACE_mm_compaction_kcompactd_sleep] = "nid=%0d",
	[FL_TRACE_mm_vmscan_wakeup_kswapd] = "nid=0 order=%1d gfp_flags=%2g",
	[FL_TRACE_mm_vmscan_kswapd_wake] = "nid=0 order=%1d",
	[FL_TRACE_mm_vmscan_kswapd_sleep] = "nid=%0d",
	[FL_TRACE_mm_vmscan_direct_reclaim_begin] = "order=%0d gfp_flags=%1g",
	[FL_TRACE_mm_vmscan_direct_reclaim_end] = "nr_reclaimed=%0d",
	[FL_TRACE_mm_vmscan_lru_shrink_inactive] = "nid=0 nr_scanned=%0d nr_reclaimed=%1d priority=%2d flags=%3l",
	[FL_TRACE_mm_vmscan_lru_shrink_active] = "nid=0 nr_taken=%0d nr_deactivated=%1d priority=%2d flags=%3l",
	[FL_TRACE_mm_khugepaged_scan_pmd] =
		"scan_pfn=0x%0p, referenced=%1d, none_or_zero=%2d, status=%3d, unmapped=%4d",
	[FL_TRACE_mm_collapse_huge_page] = "scan_pfn=0x%0p, isolated=%1d, status=%2d",
	[FL_TRACE_mark_victim] = "pid=%0d",
};

static const char *compact_result(uint64_t result)
{
	static const char *const names[] = { "not_suitable_zone", "skipped", "deferred", "no_suitable_page", "continue",
					     "complete", "partial_skipped", "contended", "success" };

	return result < sizeof(names) / sizeof(*names) ? names[result] : "?";
}

static void add_field(char kind, uint64_t value, unsigned int pageblock_order, struct fl_text *to)
{
	switch (kind) {
	case 'x':
		fl_text_add(to, "%" PRIx64, value);
		break;
	case 'p':
		fl_text_add(to, "%" PRIx64, value == FL_PFN_NONE ? 0 : value);
		break;
	case 'g':
		fl_trace_gfp((fl_gfp)value, to);
		break;
	case 'z':
		fl_text_add(to, "%-8s", value < FL_ZONES ? fl_zone_name((unsigned int)value) : "?");
		break;
	case 'c':
		fl_text_add(to, "%s", compact_result(value));
		break;
	case 'm':
		fl_text_add(to, "%s", value ? "sync" : "async");
		break;
	case 's':
		fl_text_add(to, "%" PRIu64, UINT64_C(1) << (value & 63));
		break;
	case 'f':
		fl_text_add(to, "%d", value < pageblock_order);
		break;
	case 'l':
		fl_text_add(to, "RECLAIM_WB_%s", value ? "FILE" : "ANON");
		break;
	default:
		fl_text_add(to, "%" PRId64, (int64_t)value);
	}
}

void fl_trace_format(const struct fl_trace_event *event, unsigned int pageblock_order, struct fl_text *to)
{
	fl_text_add(to, "%16.16s-%-7" PRIu32 " [%03u] ..... %5" PRIu64 ".%06" PRIu64 ": %s: ", event->task_name,
		    event->task_id, event->cpu, event->time_ns / FL_S_NS, event->time_ns % FL_S_NS / 1000,
		    fl_trace_name(event->id));
	for (const char *f = formats[event->id]; *f; f++) {
		if (*f != '%') {
			fl_text_add_char(to, *f, 1);
		} else if (f[1] == 'b') {
			fl_text_add(to, "%u", pageblock_order);
			f++;
		} else {
			add_field(f[2], event->arg[f[1] - '0'], pageblock_order, to);
			f += 2;
		}
	}
}

void fl_tracer_write(struct fl_tracer *tracer, const struct fl_trace_event *event)
{
	fl_text_clear(&tracer->line);
	fl_trace_format(event, tracer->pageblock_order, &tracer->line);
	fl_text_add_char(&tracer->line, '\n', 1);
	fwrite(tracer->line.data, 1, tracer->line.length, tracer->file);
}

void fl_tracer_init(struct fl_tracer *tracer, struct fl_mem *mem, FILE *file)
{
	tracer->file = file;
	tracer->pageblock_order = mem->pageblock_order;
	fl_text_init(&tracer->line);
	mem->trace.mask = ~UINT64_C(0);
	fprintf(file, "# tracer: nop\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
		      "#              | |         |   |||||     |         |\n");
}

void fl_tracer_fini(struct fl_tracer *tracer)
{
	if (tracer->file)
		fl_text_fini(&tracer->line);
}
