/*
 * sim/cost_table.h - the table of costs itself: X(name, default in ns, source). Included by sim/cost.h only.
 *
 * Names say what one unit costs. Ranges are charged per unit: scan_lru_folio for each folio looked at, migrate_scan_pfn
 * for each pfn that the migrate scanner looks at one by one. Sources: see the head of sim/cost.h.
 */
#ifndef FL_SIM_COST_TABLE_H
#define FL_SIM_COST_TABLE_H

#define FL_COST_TABLE(X) \
	/* entering the kernel */ \
	X(syscall, 200, "measured: getppid through syscall(2), 10^6 calls, best of 5") \
	X(context_switch, 1500, "measured: 3.05 us for half a round trip of a byte over two pipes on one CPU, best of 5; half of it is the two calls (design)") \
	X(fault_base, 830, "measured: 1.33 us for a first touch of 4 KiB, less zero_4k, alloc_pcp, lru_add and rmap") \
	X(fault_minor, 600, "design: a fault that only sets a PTE (page cache hit, zero page): fault_base without the memcg charge") \
	X(fault_around_page, 25, "design: one more PTE set by fault-around, no exception") \
	X(access, 1, "design: one access that hits the TLB, user time") \
	X(tlb_miss, 2, "published: some 4 to 7 cycles of walk a miss at 4.3 GHz, derived from the lazyfree series") \
	/* memory contents */ \
	X(zero_4k, 370, "measured: memset of random 4 KiB pages of a 256 MiB area, best of 5 x 50000 (366)") \
	X(zero_2m, 230000, "measured: 2 MiB fault of 237 us less fault and allocation") \
	X(copy_4k, 640, "measured: memcpy between random 4 KiB pages of two 256 MiB areas, best of 5 x 50000") \
	/* allocator */ \
	X(alloc_pcp, 40, "design: a per-CPU list hit; LLFree measures 100 for allocate and free with atomics, kernel pcp has none") \
	X(alloc_buddy, 150, "design: zone lock, removal and split, without waiting for the lock") \
	X(alloc_fallback, 400, "design: a claim or steal: search of the types and move of the pages of a block") \
	X(alloc_slow, 1000, "design: one pass of the slow path (wake-ups, flags, zone list) without what it calls") \
	X(free, 40, "design: free to a per-CPU list") \
	X(free_buddy, 120, "design: zone lock and merge of one page") \
	X(zone_watermark, 30, "design: one watermark test of a zone") \
	/* mappings */ \
	X(rmap, 50, "design: adding or removing one reverse mapping") \
	X(zap_pte, 60, "measured: munmap of 135 ns a page less free, lru and rmap work, which are charged apart") \
	X(unmap, 250, "design: reverse-map walk and PTE replacement for one mapping, without the flush") \
	X(remap, 200, "design: second reverse-map walk that restores the PTE after migration") \
	X(tlb_flush, 2000, "design: one flush on other CPUs by interrupt; some us in guests") \
	X(pte_table, 700, "design: a page-table page, zeroed, charged and linked; also freed") \
	X(vma, 2000, "measured: mmap and munmap of one untouched page take 4.6 us, less two system calls, halved") \
	X(pte_scan, 3, "design: looking at one PTE in a linear walk (khugepaged, madvise)") \
	X(mlock_page, 80, "design: moving a folio to or from the unevictable list") \
	/* LRU and reclaim */ \
	X(lru_add, 40, "design: one folio through a batch of 31 to its list") \
	X(scan_lru_folio, 120, "design: isolation, lock and reference test of one folio without mappings") \
	X(reclaim_folio, 300, "design: removal from cache or swap-cache and free, above the scan and the unmap") \
	X(shrink_base, 2000, "design: one call of the node shrinker: counts of lists, memcg walk") \
	X(slab_object, 300, "design: one object of a shrinker looked at and freed") \
	X(slab_alloc, 60, "design: allocation of one object from a CPU slab") \
	X(kswapd_pass, 3000, "design: one balancing pass without its scanning") \
	/* compaction */ \
	X(compact_zone_base, 3000, "design: starting on a zone: suitability, positions, drain of local batches") \
	X(migrate_scan_pfn, 4, "design: one pfn looked at by the migrate scanner") \
	X(free_scan_pfn, 4, "design: one pfn looked at by the free scanner") \
	X(pageblock_skip, 20, "design: passing one pageblock by its skip bit or type") \
	X(isolate, 120, "design: taking one folio off its LRU for migration") \
	X(isolate_free, 150, "design: taking one free chunk off the buddy lists as a target") \
	X(migrate_base, 300, "design: moving one folio (locks, mapping, flags) without copy, unmap, remap and flush") \
	X(drain_cpu, 1500, "design: draining the batches and per-CPU lists of one CPU") \
	/* huge pages */ \
	X(split_thp, 8000, "design: splitting a folio of 512 pages and its mapping; per folio") \
	X(split_page, 15, "design: each page of a split folio of another order") \
	X(collapse_base, 5000, "design: khugepaged collapse of a range without its copies, unmaps and flush") \
	X(khugepaged_range, 500, "design: looking up and locking one range before its PTEs are read") \
	X(madvise_page, 80, "design: one page marked lazyfree or zapped by madvise, above zap_pte") \
	/* swap and files */ \
	X(swap_slot, 150, "design: taking or freeing a slot, one entry") \
	X(swap_cluster, 1000, "design: finding a new cluster") \
	X(swap_io_submit, 2500, "design: building and submitting one request") \
	X(swap_bio, 800, "design: one page of a swap write apart from its request: bio, merge, and at its end the interrupt's work on the folio") \
	X(page_cache_add, 200, "design: inserting one folio into the page cache or swap cache, or removing it") \
	X(page_cache_lookup, 60, "design: finding a folio in the page cache") \
	X(read_copy_4k, 320, "measured: memcpy from random 4 KiB pages of 256 MiB to a warm buffer, best of 5 x 50000 (322)") \
	X(file_open, 2500, "design: path walk, inode, descriptor") \
	X(lookup_miss, 1150, "measured: openat of a name that is not there in 1.35 us, less a system call") \
	X(pipe_make, 5000, "measured: pipe and two closes take 5.7 us, less three system calls; the buffers are charged apart") \
	/* processes */ \
	X(process_start, 250000, "design: fork and exec of a small program without its faults") \
	X(process_exit, 60000, "design: exit and reaping without the unmaps") \
	X(thread_start, 15000, "design: clone of a thread") \
	X(oom_kill, 200000, "design: choosing and killing a victim without its exit")

#endif
