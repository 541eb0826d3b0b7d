-- type-pressure: do patches that keep non-movable pages out of movable pageblocks save huge pages under type pressure?
--
-- The experiment of "keep non-movable pages out of movable pageblocks for THP" (mobility series, October 2026): 64 GB, 8 vCPU,
-- 8 GB of swap, THP=always, defrag=always, khugepaged collapse off. A fragmented base (a 10 GB mlocked flood of blocks, 36 GB
-- of aged anonymous memory, background unmovable allocations), then eight rounds: a large NOHUGEPAGE touch drains high-order free
-- memory; 550 processes heavy in page tables and 200 000 slab files are added and stay; a probe of 2 GB with 8 threads stays
-- mapped while its success is measured. The drain shrinks by about 2.75 GB each round.
--
-- All sizes are those of a machine of 64 GiB; on another one (--memory, or --scale for the load alone) they shrink or grow in
-- proportion: memory and numbers of processes, files and pipes, never the size of one process. So 16 GiB and 4 GiB show the
-- same mix of types.
--
-- What the mail leaves open, and what we chose:
--   flood        "mlocked flood of blocks": twice its size is touched and locked, then every odd page is dropped, so that
--                10 GB stay locked with a hole behind each page. flood_step = 0 locks it without holes.
--   aged         base pages with holes: as huge pages it could be neither source nor target of what follows. Ageing drops
--                a quarter of its pages at random and refaults them in random order (aged_pct, batch), as in the recordings
--                of the small sister type-pressure-3g; each round it writes all its memory again (retouch).
--   background   per 2 MiB of aged memory one pipe with 4 pages, one socket pair, 8 tmpfs files; then every third pipe is closed.
--   processes    600 page tables each: 550 of them and the files then need the 2.75 GB by which the drain shrinks (a write to
--                one page of each 2 MiB costs the page and its table; with table_read they read the zero page instead).
--   files        tmpfs: unmovable inodes, which is what "unmovable demand" says; filesystem = ext4 makes them reclaimable.
--   drain        so large that base, drain, burst and probe together exceed memory by some 4 GB, which goes to swap: the mail
--                says that hardly a free huge page is left when the probe starts, and that two rounds died of a full swap.
--   kept         what does not shrink with the machine: a kernel of 33 MB and 99 MB that the high watermarks hold back once THP
--                has raised min_free_kbytes. A smaller machine's drain is so much smaller, so that the same share goes to swap.
--   probe        MADV_HUGEPAGE or not: the mail names only the global settings, so not (probe_advice = huge to have it).
--
-- Published (4 runs): rounds below 50 % 16 of 31 -> 7 of 31; success at round 4 42 % (25-67) -> 74 % (47-98); blocks with
-- unmovable pages at round 8 1674-2131 -> 43-154, which can only be movable-typed blocks that hold some (polluted_pageblocks).

scenario {
  summary = "A/B of placement: huge pages while non-movable memory grows round by round",

  options = {
    { name = "rounds",      kind = "int",  default = 8, min = 1, max = 100, help = "rounds of demand" },
    { name = "flood",       kind = "size", default = "10G", min = "0", multiple = "2M", help = "mlocked base pages" },
    { name = "flood_step",  kind = "int",  default = 2, min = 0, max = 64, help = "one page of so many stays locked, the others are dropped; 0: no holes" },
    { name = "aged",        kind = "size", default = "36G", min = "2M", multiple = "2M", help = "aged anonymous memory" },
    { name = "aged_pct",    kind = "int",  default = 25, min = 0, max = 400, help = "per cent of its pages that are dropped and refaulted" },
    { name = "batch",       kind = "int",  default = 8192, min = 1, max = 1000000, help = "pages dropped before they are refaulted" },
    { name = "retouch",     kind = "bool", default = true, help = "write all of it again at the start of each round" },
    { name = "background",  kind = "int",  default = 1, min = 0, max = 16, help = "pipes and socket pairs per 2 MiB of aged memory; 8 files each" },
    { name = "drain",       kind = "size", default = "16G", min = "2M", multiple = "2M", help = "memory of the drain in round 1" },
    { name = "kept",        kind = "size", default = "132M", min = "0", help = "memory that a machine of any size keeps for itself" },
    { name = "drain_less",  kind = "size", default = "2816M", min = "0", multiple = "2M", help = "by which it shrinks each round" },
    { name = "processes",   kind = "int",  default = 550, min = 0, max = 100000, help = "processes of page tables, each round" },
    { name = "tables",      kind = "int",  default = 600, min = 1, max = 100000, help = "page tables of each" },
    { name = "table_read",  kind = "bool", default = false, help = "read the zero page instead of writing a page in each table" },
    { name = "files",       kind = "int",  default = 200000, min = 0, max = 100000000, help = "empty files, each round" },
    { name = "filesystem",  kind = "choice", default = "tmpfs", choices = { "tmpfs", "ext4" }, help = "of the files" },
    { name = "rest",        kind = "duration", default = "2s", help = "sleep after the demand" },
    { name = "probe",       kind = "size", default = "2G", min = "4M", multiple = "2M", help = "memory of the probe" },
    { name = "probe_threads", kind = "int", default = 8, min = 1, max = 64, help = "threads that touch it" },
    { name = "probe_advice", kind = "choice", default = "none", choices = { "none", "huge" }, help = "madvise of the probe" },
  },

  machine = { memory = "64G", cpus = 8, swap = "8G", memory_min = "1G" },
  kernel  = { ["thp.enabled"] = "always", ["thp.defrag"] = "always", ["khugepaged.scan_sleep_millisecs"] = "3600000" },

  metrics = {
    { name = "thp_success_pct",      unit = "%",          better = "higher" },
    { name = "polluted_pageblocks",  unit = "pageblocks", better = "lower" },
    { name = "unmovable_pageblocks", unit = "pageblocks", better = "lower" },
    { name = "mixed_pageblocks",     unit = "pageblocks", better = "lower" },
    { name = "unmovable_pages",      unit = "pages" },
    { name = "probe_compact_stall" }, { name = "probe_compact_success" }, { name = "probe_compact_fail" },
    { name = "probe_freelist_hits" },
    { name = "rounds_below_50",      unit = "rounds",     better = "lower" },
    { name = "rounds_counted",       unit = "rounds",     better = "higher" },
    { name = "rounds_died",          unit = "rounds",     better = "lower" },
  },

  published = {
    { metric = "thp_success_pct",     phase = "r4", base = "42 (25-67)", changed = "74 (47-98)", change = "mobility-claim" },
    { metric = "thp_success_pct",     phase = "r2", base = "4.7",        changed = "92.6",       change = "mobility-claim" },
    { metric = "polluted_pageblocks", phase = "r8", base = "1674-2131",  changed = "43-154",     change = "mobility-claim" },
    { metric = "probe_compact_stall",   phase = "r2", base = "376",      changed = "697",        change = "mobility-claim" },
    { metric = "probe_compact_success", phase = "r2", base = "47",       changed = "690",        change = "mobility-claim" },
    { metric = "rounds_below_50",     phase = "all", base = "4 (16 in 4 runs)", changed = "1.75 (7 in 4 runs)", change = "mobility-claim" },
  },
}

-- The load of this machine: sizes in proportion to 64 GiB, at least one unit each.
local function part(bytes, unit)
  return math.max(bytes // 4096 * (machine.scale // MiB) // (64 * 1024) * 4096 // unit * unit, unit)
end
local function number(count)
  return math.max(count * (machine.scale // MiB) // (64 * 1024), count > 0 and 1 or 0)
end

local flood_bytes = part(options.flood, machine.huge)
local aged_bytes  = part(options.aged, machine.huge)
local first_drain = part(options.drain, machine.huge) - (options.kept - part(options.kept, machine.page)) // machine.huge * machine.huge
local probe_bytes = part(options.probe, machine.huge * options.probe_threads)

-- Bodies tell each other how far they are; who waits for a process that dies does not wait for ever.
local done = {}
local function until_done(what, who)
  while not done[what] and not (who and ended(who)) do sleep(10 * ms) end
end

local function flood()
  local step = math.max(options.flood_step, 1)
  local memory = map(flood_bytes * step, "nohuge")
  touch(memory)
  mlock(memory)
  for first = 1, step - 1 do
    advise(memory, "dontneed_locked", { offset = first * machine.page, stride = step * machine.page })
  end
  done.flood = true
  pause()
end

local function age(memory)
  local left = aged_bytes // machine.page * options.aged_pct // 100
  while left > 0 do
    local count = math.min(options.batch, left)
    refault(memory, count)
    left = left - count
  end
end

local function aged()
  local memory = map(aged_bytes, "nohuge")
  local pipe_sets = {}
  for offset = 0, aged_bytes - 1, machine.huge do
    touch(memory, { offset = offset, length = machine.huge })
    if options.background > 0 then
      table.insert(pipe_sets, pipes(options.background, 4 * machine.page) or 0)
      sockets(options.background, 4000)
      create_files(8 * options.background, 0, "tmpfs")
    end
  end
  for i = 3, #pipe_sets, 3 do
    if pipe_sets[i] ~= 0 then close(pipe_sets[i]) end
  end
  age(memory)
  done.aged = true
  for round = 2, options.rounds do
    until_done("round" .. round)
    if options.retouch then touch(memory) end
    done["rewritten" .. round] = true
  end
  pause()
end

local function drain(round, bytes)
  touch(map(bytes, "nohuge"))
  done["drain" .. round] = true
  pause()
end

local function tables()
  if options.table_read then
    map_sparse(options.tables, machine.huge, "read")
  else
    map_sparse(options.tables, machine.huge)
  end
  done.tables = done.tables + 1
  pause()
end

local function alive(handles)
  local count = 0
  for i, handle in ipairs(handles) do
    if not ended(handle) then count = count + 1 end
  end
  return count
end

local function demand(round)
  local handles, polls = {}, 0
  done.tables = 0
  for i = 1, number(options.processes) do
    handles[i] = process("tables", (round - 1) * number(options.processes) + i, tables)
  end
  while done.tables < #handles do
    sleep(10 * ms)
    polls = polls + 1
    if polls % 100 == 0 and done.tables >= alive(handles) then break end -- those that died will not report
  end
  if options.files > 0 then create_files(number(options.files), 0, options.filesystem) end
  sleep(options.rest)
end

local probe_counters = { "thp_fault_alloc", "thp_fault_fallback", "compact_stall", "compact_success", "compact_fail" }

local function probe(round)
  local memory = options.probe_advice == "huge" and map(probe_bytes, "huge") or map(probe_bytes)
  local share = probe_bytes // options.probe_threads
  local before, delta = {}, {}
  for i, name in ipairs(probe_counters) do before[i] = counter(name) end
  for offset = 0, probe_bytes - 1, share do
    thread(function() touch(memory, { offset = offset, length = share, stride = machine.huge }) end)
  end
  wait()
  for i, name in ipairs(probe_counters) do delta[i] = counter(name) - before[i] end
  done["probe" .. round] = delta
  sample("r" .. round)
end

-- A round counts when its probe lived to measure and nothing was killed for want of memory; the others are dead rounds, and so
-- are all that follow the death of the fragmented base.
local base = {}
local below, counted, died = 0, 0, 0
local function judge(round, kills)
  local phase, delta = "r" .. round, done["probe" .. round]
  if kills > 0 or not delta or ended(base.flood) or ended(base.aged) then
    died = died + 1
    for i, name in ipairs({ "thp_success_pct", "probe_compact_stall", "probe_compact_success", "probe_compact_fail",
                            "probe_freelist_hits" }) do
      record(name, phase, nil)
    end
    return
  end
  local made, tries = delta[1], delta[1] + delta[2]
  counted = counted + 1
  if 2 * made < tries then below = below + 1 end
  record("thp_success_pct", phase, 100 * made, tries)
  record("probe_compact_stall", phase, delta[3])
  record("probe_compact_success", phase, delta[4])
  record("probe_compact_fail", phase, delta[5])
  record("probe_freelist_hits", phase, made - delta[4])
end

local function run_round(round)
  local kills = counter("oom_kill")
  if round > 1 then
    done["round" .. round] = true
    until_done("rewritten" .. round, base.aged)
  end
  local bytes = math.max(first_drain - (round - 1) * part(options.drain_less, machine.huge), machine.huge)
  local drainer = process("drain", round, drain, round, bytes)
  until_done("drain" .. round, drainer)
  demand(round)
  wait(process("probe", round, probe, round))
  judge(round, counter("oom_kill") - kills)
  kill(drainer)
  wait(drainer)
end

function main()
  base.flood = process("flood", flood)
  until_done("flood", base.flood)
  base.aged = process("aged", aged)
  until_done("aged", base.aged)
  sample("base")
  measure()
  for round = 1, options.rounds do run_round(round) end
  record("rounds_below_50", "all", below)
  record("rounds_counted", "all", counted)
  record("rounds_died", "all", died)
end
