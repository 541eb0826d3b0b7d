/*
 * observe/snapshot.h - what the readers found: one plain struct for /proc, /sys, sosreports and pasted dumps.
 *
 * A report (struct fl_mem_report) is what one input gave: states of memory in the order of the text, the requests that
 * failed (each points at the state printed with it), and warnings with line numbers. A live host is one state and no
 * request. All amounts are base pages of the state's page size unless the name says otherwise; a figure that was not
 * there is FL_MEM_NONE. Readers (read_proc.h, read_text.h) fill, arith.h and diagnose.h only read.
 */
#ifndef FL_OBSERVE_SNAPSHOT_H
#define FL_OBSERVE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define FL_MEM_NONE UINT64_MAX   /* this figure was not in the input */
#define FL_MEM_ORDERS_MAX 24     /* ia64 prints up to 17, sparc64 and others up to 21 */
#define FL_MEM_TYPES_MAX 12
#define FL_MEM_PROTECTION_MAX 8
#define FL_MEM_STATES_MAX 512    /* further ones are counted, not kept */
#define FL_MEM_REQUESTS_MAX 512
#define FL_MEM_ZONES_MAX 512     /* per state */
#define FL_MEM_WARNINGS_MAX 200

/* What a migratetype means, whatever number or name this kernel gives it. */
enum fl_mem_role {
	FL_MEM_UNMOVABLE,
	FL_MEM_MOVABLE,
	FL_MEM_RECLAIMABLE,
	FL_MEM_HIGHATOMIC, /* also Reserve of kernels before 4.4 */
	FL_MEM_CMA,
	FL_MEM_ISOLATE,
	FL_MEM_ROLE_UNKNOWN, /* a name that we do not know; kept as it is */
	FL_MEM_ROLES
};

enum fl_mem_kind_of_zone {
	FL_MEM_ZONE_DMA,
	FL_MEM_ZONE_DMA32,
	FL_MEM_ZONE_NORMAL,
	FL_MEM_ZONE_HIGHMEM,
	FL_MEM_ZONE_MOVABLE,
	FL_MEM_ZONE_DEVICE,
	FL_MEM_ZONE_OTHER, /* unknown name, or lists printed without one */
};

struct fl_mem_value {
	char *name;
	uint64_t value;
};

/* Names and values in the order of the input (vmstat, meminfo in kB, per-zone statistics). */
struct fl_mem_values {
	struct fl_mem_value *items;
	size_t count, capacity;
};

/* A setting as text: "enabled" = "madvise", "vm.min_free_kbytes" = "67584". */
struct fl_mem_setting {
	char *name;
	char *value;
};

struct fl_mem_settings {
	struct fl_mem_setting *items;
	size_t count, capacity;
};

struct fl_mem_zone {
	int node; /* -1: not printed */
	char name[24];
	uint8_t kind;       /* enum fl_mem_kind_of_zone */
	bool all_unreclaimable;
	bool wrapped;       /* a figure is beyond any machine: unsigned overflow in the kernel's accounting */
	unsigned int line;  /* of its figures; 0: not from a text */

	/* Pages. min, low, high and promo are as printed: they include the boost since kernel 5.0. */
	uint64_t free, min, low, high, promo, boost;
	uint64_t spanned, present, managed;
	uint64_t free_cma, free_highatomic, reserved_highatomic;
	uint64_t protection[FL_MEM_PROTECTION_MAX]; /* lowmem_reserve by ceiling zone index; pages */
	unsigned int protection_count;
	uint64_t pcp_pages; /* on per-CPU lists: sum of the pagesets, or free_pcp */
	unsigned int pcp_count;
	uint64_t start_pfn;

	/* Free lists. orders_count 0: not printed. */
	unsigned int orders_count;
	unsigned int lists_line;
	uint64_t free_blocks[FL_MEM_ORDERS_MAX];
	uint32_t letters[FL_MEM_ORDERS_MAX]; /* roles with free blocks there, as 1 << role, from (UME); 0: not printed */
	bool has_letters;
	bool lists_incomplete;    /* the line was cut or elided: orders beyond orders_count are not known */
	bool lists_from_types;    /* summed from the rows of pagetypeinfo */
	uint64_t lists_sum_kb; /* the total that the dump printed behind the lists, or FL_MEM_NONE */

	/* pagetypeinfo. Rows by index into fl_mem_state.types. */
	bool has_type_rows, has_type_blocks;
	unsigned int types_line;
	uint64_t type_free[FL_MEM_TYPES_MAX][FL_MEM_ORDERS_MAX];
	bool type_capped[FL_MEM_TYPES_MAX][FL_MEM_ORDERS_MAX]; /* printed as ">100000": at least so many */
	uint64_t type_blocks[FL_MEM_TYPES_MAX];

	/* debugfs extfrag: the kernel's own figures in thousandths. */
	bool has_unusable_index, has_fragmentation_index;
	int unusable_index[FL_MEM_ORDERS_MAX], fragmentation_index[FL_MEM_ORDERS_MAX];

	struct fl_mem_values stats; /* nr_* and the like; anon, file, slab, pagetables of a dump, in pages */
};

struct fl_mem_type {
	char name[24];
	uint8_t role; /* enum fl_mem_role */
};

/* One size directory /sys/kernel/mm/transparent_hugepage/hugepages-*kB. */
struct fl_mem_thp_size {
	uint64_t size_kb;
	struct fl_mem_settings settings; /* enabled, shmem_enabled */
	struct fl_mem_values stats;      /* anon_fault_alloc, ... */
};

/* One state of memory. */
struct fl_mem_state {
	unsigned int line_first, line_last; /* 0: not from a text */
	uint32_t page_size;                 /* bytes; 0 only when nothing told */
	bool page_size_assumed;             /* 4096 because nothing in the input told */
	unsigned int orders_count;          /* number of orders, 11 for 0..10; 0 unknown */
	unsigned int pageblock_order;       /* 0 unknown */

	struct fl_mem_zone *zones;
	size_t zones_count, zones_capacity;
	struct fl_mem_type types[FL_MEM_TYPES_MAX]; /* in the order of first appearance */
	unsigned int types_count;

	struct fl_mem_values vmstat;   /* pages and events, as the kernel prints them */
	struct fl_mem_values meminfo;  /* kB, but HugePages_* are counts */
	struct fl_mem_values totals;   /* pages: active_anon, free, slab_unreclaimable, ... of a Mem-Info head */
	struct fl_mem_settings sysctls; /* "vm.min_free_kbytes", ... */
	struct fl_mem_settings thp;     /* "enabled", "defrag", "khugepaged/defrag", ... */
	struct fl_mem_thp_size *thp_sizes;
	size_t thp_sizes_count, thp_sizes_capacity;
	char release[64];              /* kernel, as in "6.12.0-13-amd64"; "" unknown */
	bool dump;                     /* a Mem-Info of the kernel, not files of /proc */
	bool bits32;                   /* a 32-bit kernel: HighMem is named, or addresses have eight digits */
};

enum fl_mem_request_kind {
	FL_MEM_REQUEST_PAGE,     /* "page allocation failure" or "stalls" */
	FL_MEM_REQUEST_OOM,      /* "invoked oom-killer", global */
	FL_MEM_REQUEST_MEMCG,    /* the same, for the limit of a memory cgroup */
	FL_MEM_REQUEST_VMALLOC,  /* "vmalloc error" / "vmap allocation ... failed" */
	FL_MEM_REQUEST_SLUB,     /* "SLUB: Unable to allocate memory" */
	FL_MEM_REQUEST_KMEM,     /* XFS "possible memory allocation deadlock" */
	FL_MEM_REQUEST_WARNING,  /* WARNING in mm/page_alloc.c: order too large */
	FL_MEM_REQUEST_STALL,    /* "page allocation stalls" */
	FL_MEM_REQUEST_CMA,      /* cma_alloc / alloc_contig_range failed */
};

/* gfp flags that matter, under our own bits (the kernel's numbers change between versions). */
enum fl_mem_gfp {
	FL_GFP_DMA = 1 << 0,
	FL_GFP_HIGHMEM = 1 << 1,
	FL_GFP_DMA32 = 1 << 2,
	FL_GFP_MOVABLE = 1 << 3,
	FL_GFP_RECLAIMABLE = 1 << 4,
	FL_GFP_HIGH = 1 << 5,
	FL_GFP_IO = 1 << 6,
	FL_GFP_FS = 1 << 7,
	FL_GFP_DIRECT_RECLAIM = 1 << 8, /* may sleep, reclaim and compact */
	FL_GFP_KSWAPD_RECLAIM = 1 << 9,
	FL_GFP_NOWARN = 1 << 10,
	FL_GFP_RETRY_MAYFAIL = 1 << 11,
	FL_GFP_NOFAIL = 1 << 12,
	FL_GFP_NORETRY = 1 << 13,
	FL_GFP_MEMALLOC = 1 << 14,
	FL_GFP_NOMEMALLOC = 1 << 15,
	FL_GFP_COMP = 1 << 16,
	FL_GFP_ZERO = 1 << 17,
	FL_GFP_HARDWALL = 1 << 18,
	FL_GFP_THISNODE = 1 << 19,
	FL_GFP_ACCOUNT = 1 << 20,
	FL_GFP_WRITE = 1 << 21,
	FL_GFP_ATOMIC = 1 << 22, /* __GFP_ATOMIC of kernels 4.4 to 6.2; also set for the name GFP_ATOMIC */
};

struct fl_mem_request {
	uint8_t kind; /* enum fl_mem_request_kind */
	unsigned int line_first, line_last;
	char comm[40];
	bool has_order, has_gfp;
	int order;
	uint64_t gfp_raw;   /* as printed */
	char gfp_names[200];
	uint32_t gfp;       /* enum fl_mem_gfp bits */
	bool gfp_old_layout; /* bits decoded by the table of kernels before 4.4 (no names printed) */
	char nodemask[40];   /* "" not printed, "(null)" none, "0-1" */
	char cpuset[64], mems_allowed[40];
	char constraint[32];
	char memcg[128];     /* task_memcg or oom_memcg */
	uint64_t size_bytes; /* vmalloc, kmem_alloc, contiguous range */
	uint64_t memcg_usage_kb, memcg_limit_kb;
	bool vm_struct;      /* vmalloc failed for address space, not for pages */
	bool pagefault_oom;  /* OOM called from the end of a page fault, without a request of its own */
	bool state_before;   /* the state was printed before this request, not by it */
	bool state_shared;   /* it was printed for another request: this one came without (rate limit) */
	unsigned int repeats; /* how often the same was printed again without a state */
	char *trace[24];     /* functions of the call trace, the allocator's own left out */
	unsigned int trace_count;
	int state;           /* index into fl_mem_report.states, -1: the text has none */
};

struct fl_mem_warning {
	unsigned int line; /* 0: not about a line */
	char *text;
};

/* One file of a host: its lines follow those of the files before it. */
struct fl_mem_file {
	char *name; /* "proc/buddyinfo" */
	unsigned int first_line;
};

struct fl_mem_report {
	char *source; /* what was read, for messages: file name or "this host" */
	struct fl_mem_state **states;
	size_t states_count, states_capacity;
	struct fl_mem_request **requests;
	size_t requests_count, requests_capacity;
	struct fl_mem_warning *warnings;
	size_t warnings_count, warnings_capacity;
	struct fl_mem_file *files; /* in the order of their lines; none for one text, whose lines need no file */
	size_t files_count, files_capacity;
	uint64_t warnings_dropped, requests_dropped, states_dropped;
	uint64_t lines, lines_used; /* of a text */
	uint64_t events_extfrag, events_extfrag_claimed, events_compaction, events_reclaim; /* trace lines seen */
	uint64_t events_compaction_ns, events_reclaim_ns;        /* between begin and end, summed over tasks */
	bool live;
};

void fl_mem_report_init(struct fl_mem_report *report, const char *source);
void fl_mem_report_fini(struct fl_mem_report *report);

/* Appends an empty state (all figures FL_MEM_NONE); NULL past FL_MEM_STATES_MAX (counted). */
struct fl_mem_state *fl_mem_report_add_state(struct fl_mem_report *report);
/* Appends an empty request; NULL past FL_MEM_REQUESTS_MAX (counted). */
struct fl_mem_request *fl_mem_report_add_request(struct fl_mem_report *report);
void fl_mem_report_warn(struct fl_mem_report *report, unsigned int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The lines from this one on belong to the file `name`. */
void fl_mem_report_file(struct fl_mem_report *report, const char *name, unsigned int first_line);
/* Where a line of the report stands: its number in the file *ret_name, or in the text when that is NULL. */
unsigned int fl_mem_report_place(const struct fl_mem_report *report, unsigned int line, const char **ret_name);

/* The zone (node, name), made if it is not there; NULL past FL_MEM_ZONES_MAX. The pointer holds until the next zone. */
struct fl_mem_zone *fl_mem_state_zone(struct fl_mem_state *state, int node, const char *name);
const struct fl_mem_zone *fl_mem_state_find_zone(const struct fl_mem_state *state, int node, const char *name);

/* Index of the migratetype of this name, made if it is not there; FL_MEM_TYPES_MAX when the table is full. */
unsigned int fl_mem_state_type(struct fl_mem_state *state, const char *name);
enum fl_mem_role fl_mem_role_of(const char *name);
const char *fl_mem_role_name(enum fl_mem_role role);
enum fl_mem_kind_of_zone fl_mem_zone_kind_of(const char *name);

/* Values by name: set replaces or appends, get returns FL_MEM_NONE when it is not there. */
void fl_mem_values_set(struct fl_mem_values *values, const char *name, uint64_t value);
uint64_t fl_mem_values_get(const struct fl_mem_values *values, const char *name);
void fl_mem_values_fini(struct fl_mem_values *values);
void fl_mem_settings_set(struct fl_mem_settings *settings, const char *name, const char *value);
const char *fl_mem_settings_get(const struct fl_mem_settings *settings, const char *name); /* NULL: not there */
void fl_mem_settings_fini(struct fl_mem_settings *settings);

/* Memory in the zone: managed, else present; 0 for an unpopulated zone, FL_MEM_NONE when neither was printed. */
uint64_t fl_mem_zone_managed(const struct fl_mem_zone *zone);
/* A zone that has memory or free pages: the only ones that requests can use. */
bool fl_mem_zone_is_populated(const struct fl_mem_zone *zone);

#endif
