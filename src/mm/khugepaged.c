/*
 * mm/khugepaged.c - which address spaces khugepaged scans, in which order, how much at a wake-up, and when it sleeps. Mirrors
 * the list, scan and daemon parts of mm/khugepaged.c; facts 9.1 to 9.4. What happens to a range is in collapse.c.
 *
 * The mmap lock is not modelled, so no address space is ever passed over because it is busy.
 */
#include "mm/khugepaged.h"

#include "base/hash.h"
#include "mm/huge_memory.h"
#include "mm/mm_internal.h"
#include "mm/swap.h"
#include "mm/sysctl.h"
#include "sim/platform.h"

/* ---- The list ---- */

static struct fl_mm *mm_at(const struct fl_mem *mem, uint32_t link)
{
	return link ? fl_mm_of(mem, link - 1) : NULL;
}

/* hugepage_pmd_enabled() (6.12), hugepage_enabled() (7.3) */
static bool is_enabled(const struct fl_mem *mem)
{
	struct fl_thp_orders orders;

	fl_thp_orders_of(mem, &orders);
	return mem->decide.thp_raises_min_free(&orders);
}

static void enter(struct fl_mem *mem, struct fl_mm *mm)
{
	struct fl_khugepaged *k = mem->khugepaged;
	struct fl_mm *last = mm_at(mem, k->last);

	mm->khugepaged_next = 0;
	mm->khugepaged_prev = k->last;
	if (last)
		last->khugepaged_next = mm->id + 1;
	else
		k->first = mm->id + 1;
	k->last = mm->id + 1;
	if (!last)
		fl_wake_all(&k->wait);
}

void fl_khugepaged_exit(struct fl_mem *mem, struct fl_mm *mm)
{
	struct fl_khugepaged *k = mem->khugepaged;
	struct fl_mm *prev = mm_at(mem, mm->khugepaged_prev), *next = mm_at(mem, mm->khugepaged_next);

	if (!mm->khugepaged)
		return;
	mm->khugepaged = false;
	if (prev)
		prev->khugepaged_next = mm->khugepaged_next;
	else
		k->first = mm->khugepaged_next;
	if (next)
		next->khugepaged_prev = mm->khugepaged_prev;
	else
		k->last = mm->khugepaged_prev;
	if (k->cursor_mm != mm->id + 1)
		return;
	k->gone = true;
	k->cursor_mm = mm->khugepaged_next;
	k->cursor = 0;
	if (!k->cursor_mm)
		fl_count(mem, FL_VM_khugepaged_full_scans, 1);
}

/* Sizes of which khugepaged could make something in this VMA; 0: it is not a matter for it. */
static uint32_t vma_orders(const struct fl_mem *mem, const struct fl_mm *mm, const struct fl_vma *vma)
{
	uint32_t of_interest =
		mem->decide.khugepaged_orders(&(struct fl_khugepaged_order_facts){ .pmd_order = mem->pmd_order });
	uint32_t orders = fl_thp_orders(mem, vma->flags, mm->thp_disabled) & of_interest;

	if (vma->type != FL_VMA_ANON || !vma->has_anon_vma)
		return 0;
	for (uint32_t left = orders; left; left &= left - 1) { /* one aligned range that ends at the VMA's end, or before */
		unsigned int order = __builtin_ctz(left);
		uint64_t end = vma->end & ~((1u << order) - 1);

		if (end < (uint64_t)vma->start + (1u << order))
			orders &= ~(1u << order);
	}
	return orders;
}

void fl_khugepaged_enter_vma(struct fl_mem *mem, struct fl_mm *mm, const struct fl_vma *vma)
{
	if (!mm->khugepaged && is_enabled(mem) && vma_orders(mem, mm, vma))
		fl_khugepaged_register(mem, mm);
}

/* ---- One address space ---- */

struct scan {
	struct fl_mem *mem;
	struct fl_caller *who;
	struct fl_khugepaged *k;
	uint64_t progress, budget;
	enum fl_scan_result result;
};

static bool is_spent(const struct scan *s)
{
	return s->progress >= s->budget;
}

static void next_mm(struct scan *s, const struct fl_mm *mm)
{
	s->k->cursor_mm = mm->khugepaged_next;
	s->k->cursor = 0;
	if (!s->k->cursor_mm)
		fl_count(s->mem, FL_VM_khugepaged_full_scans, 1);
}

/* What a VMA's scan came to. */
enum piece { PIECE_DONE, PIECE_LEAVE, PIECE_DISABLED };

/* One range at the cursor: PIECE_LEAVE when the lock was dropped or the budget is used up. */
static enum piece scan_range(struct scan *s, struct fl_mm *mm, uint32_t vma_flags)
{
	uint32_t pages = 1u << s->mem->pmd_order;
	struct fl_collapse c = { .mem = s->mem, .who = s->who, .mm = mm, .first = s->k->cursor, .is_khugepaged = true,
				 .vma_flags = vma_flags };

	s->k->gone = false;
	s->result = fl_collapse_scan_pmd(&c);
	s->progress += s->mem->decide.khugepaged_charge(
		&(struct fl_khugepaged_charge_facts){ .visited = c.visited, .pages = pages });
	fl_count(s->mem, FL_VM_khugepaged_ranges_scanned, 1);
	if (s->result == FL_SCAN_SUCCEED)
		fl_count(s->mem, FL_VM_khugepaged_pages_collapsed, 1);
	if (s->k->gone)
		return PIECE_LEAVE;
	s->k->cursor += pages;
	return c.attempted || is_spent(s) ? PIECE_LEAVE : PIECE_DONE;
}

/* The ranges of a VMA from the cursor on. */
static enum piece scan_vma(struct scan *s, struct fl_mm *mm, const struct fl_vma *vma)
{
	uint32_t pages = 1u << s->mem->pmd_order, flags = vma->flags;
	uint64_t first = ((uint64_t)vma->start + pages - 1) & ~(uint64_t)(pages - 1), end = vma->end & ~(pages - 1);

	if (!vma_orders(s->mem, mm, vma) || s->k->cursor > end) {
		s->progress++;
		return PIECE_DONE;
	}
	if (s->k->cursor < first)
		s->k->cursor = (fl_vpn)first;
	while (s->k->cursor < end) {
		enum piece piece = scan_range(s, mm, flags);

		if (piece != PIECE_DONE)
			return piece;
	}
	return PIECE_DONE;
}

static enum piece scan_vmas(struct scan *s, struct fl_mm *mm)
{
	for (uint32_t at = fl_vma_position(s->mem, mm, s->k->cursor); at < mm->vmas; at++) {
		enum piece piece;

		if (mm->thp_disabled) {
			s->progress++;
			return PIECE_DISABLED;
		}
		piece = scan_vma(s, mm, fl_vma_at(s->mem, mm, at));
		if (piece != PIECE_DONE)
			return piece;
	}
	return PIECE_DONE;
}

/* khugepaged_scan_mm_slot(): from the cursor on, until the address space is done, the lock was dropped, or the budget is. */
static void scan_mm(struct scan *s)
{
	struct fl_khugepaged *k = s->k;
	struct fl_mm *mm;
	enum piece piece = PIECE_DONE;

	if (!k->cursor_mm) {
		k->cursor_mm = k->first;
		k->cursor = 0;
	}
	mm = mm_at(s->mem, k->cursor_mm);
	k->gone = false;
	s->result = FL_SCAN_FAIL;
	s->progress++;
	if (!mm->dying && !mm->thp_disabled)
		piece = scan_vmas(s, mm);
	if (k->gone)
		return;
	if (piece == PIECE_DONE || mm->dying ||
	    (piece == PIECE_DISABLED &&
	     s->mem->decide.khugepaged_leaves_disabled_at_once(&(struct fl_no_facts){ 0 })))
		next_mm(s, mm);
}

/* ---- One wake-up ---- */

static bool has_work(const struct fl_mem *mem)
{
	return mem->khugepaged->first && is_enabled(mem);
}

/* Sleeps after a failed allocation; a write to the sleeps ends it. */
static void alloc_sleep(struct fl_mem *mem, struct fl_caller *who)
{
	if (mem->sim && mem->set.khugepaged_alloc_sleep_ms)
		fl_wait_timeout(&mem->khugepaged->wait, who->task, mem->set.khugepaged_alloc_sleep_ms * FL_MS_NS);
}

uint64_t fl_khugepaged_do_scan(struct fl_mem *mem, struct fl_caller *who)
{
	struct scan s = { .mem = mem, .who = who, .k = mem->khugepaged, .budget = mem->set.khugepaged_pages_to_scan };
	unsigned int passes_through_head = 0;
	bool may_sleep = true;

	fl_count(mem, FL_VM_khugepaged_wakeups, 1);
	fl_lru_add_drain_all(mem, who);
	for (;;) {
		fl_cond_resched(who->task);
		passes_through_head += !s.k->cursor_mm;
		if (!has_work(mem) || passes_through_head >= 2)
			break;
		scan_mm(&s);
		if (is_spent(&s))
			break;
		if (s.result != FL_SCAN_ALLOC_HUGE_PAGE_FAIL)
			continue;
		if (!may_sleep)
			break;
		may_sleep = false;
		alloc_sleep(mem, who);
	}
	fl_count(mem, FL_VM_khugepaged_progress, s.progress);
	return s.progress;
}

/* ---- The daemon ---- */

static void sleep_between(struct fl_mem *mem, struct fl_task *task)
{
	struct fl_khugepaged *k = mem->khugepaged;
	fl_ns end = fl_task_now(task) + mem->set.khugepaged_scan_sleep_ms * FL_MS_NS;

	k->woken = false;
	while (!k->woken && fl_task_now(task) < end)
		fl_wait_timeout(&k->wait, task, end - fl_task_now(task));
}

static void khugepaged_body(struct fl_task *task, void *arg)
{
	struct fl_mem *mem = arg;
	struct fl_khugepaged *k = mem->khugepaged;

	for (;;) {
		uint64_t before = task->user_ns + task->sys_ns;

		while (!has_work(mem))
			fl_wait(&k->wait, task);
		fl_khugepaged_do_scan(mem, &k->who);
		fl_task_settle(task);
		fl_work_add(mem, &k->who, FL_WORK_cpu_ns, task->user_ns + task->sys_ns - before);
		sleep_between(mem, task);
	}
}

/* start_stop_khugepaged(): without THP there is no such thread; one that is there waits while THP is off. */
static void start_if_enabled(struct fl_mem *mem)
{
	struct fl_khugepaged *k = mem->khugepaged;

	if (!k->may_start || k->who.task || !is_enabled(mem))
		return;
	k->who = (struct fl_caller){ .task = fl_task_new(mem->sim, "khugepaged", true), .flags = FL_PF_KTHREAD,
				     .actor = FL_ACTOR_KHUGEPAGED, .trigger = FL_TRIGGER_SCAN };
	k->who.task->owner = k;
	fl_task_set_nice(k->who.task, 19);
	fl_task_start(k->who.task, khugepaged_body, mem);
}

void fl_khugepaged_settings_written(struct fl_mem *mem, bool sleeps)
{
	struct fl_khugepaged *k = mem->khugepaged;

	k->woken |= sleeps;
	start_if_enabled(mem);
	if (sleeps || has_work(mem))
		fl_wake_all(&k->wait);
}

void fl_khugepaged_start(struct fl_mem *mem)
{
	FL_ASSERT(mem->sim);
	mem->khugepaged->may_start = true;
	start_if_enabled(mem);
}

/* ---- Life ---- */

void fl_khugepaged_init(struct fl_mem *mem)
{
	mem->khugepaged = fl_host_alloc(sizeof(*mem->khugepaged));
	fl_set_khugepaged_enter(mem, enter);
	fl_mm_set_collapse(mem, fl_madvise_collapse);
}

void fl_khugepaged_fini(struct fl_mem *mem)
{
	fl_host_free(mem->khugepaged);
	mem->khugepaged = NULL;
}

uint64_t fl_khugepaged_hash(const struct fl_mem *mem, uint64_t hash)
{
	const struct fl_khugepaged *k = mem->khugepaged;

	for (const struct fl_mm *mm = mm_at(mem, k->first); mm; mm = mm_at(mem, mm->khugepaged_next))
		hash = fl_hash_u64(hash, mm->id);
	for (unsigned int i = 0; i < FL_SCAN_COUNT; i++)
		hash = fl_hash_u64(hash, k->results[i]);
	return fl_hash_u64(hash, (uint64_t)k->cursor_mm << 32 | k->cursor);
}

void fl_khugepaged_check(struct fl_mem *mem)
{
	const struct fl_khugepaged *k = mem->khugepaged;
	uint32_t listed = 0, registered = 0, prev = 0;
	bool cursor_listed = !k->cursor_mm;

	for (uint32_t at = k->first; at; at = mm_at(mem, at)->khugepaged_next, listed++) {
		FL_ASSERT_MSG(mm_at(mem, at) && mm_at(mem, at)->khugepaged, "khugepaged's list holds who registered");
		FL_ASSERT_MSG(mm_at(mem, at)->khugepaged_prev == prev, "links of khugepaged's list");
		prev = at;
		cursor_listed |= at == k->cursor_mm;
	}
	FL_ASSERT_MSG(prev == k->last && cursor_listed, "ends and cursor of khugepaged's list");
	for (uint32_t id = 0; id < fl_mm_ids(mem); id++)
		registered += fl_mm_of(mem, id) && fl_mm_of(mem, id)->khugepaged;
	FL_ASSERT_MSG(listed == registered, "who registered is on khugepaged's list once");
}
