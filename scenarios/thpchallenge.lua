-- thpchallenge: does THP need the larger min_free_kbytes? Huge page faults while small files stream through the page cache.
--
-- The experiment of "mm: remove min_free_kbytes adjustment for THP" (v3, September 2026): mmtests' thpchallenge with fio and
-- MADV_HUGEPAGE on a machine of 16 GiB, 30 runs of each kernel, once on idle CPUs and once with CPUs that an identical load kept
-- 99.7 % busy (load = busy). What the program does (mmtests, config-workload-thpchallenge-fio and its parts):
--   prepare, not measured: four writers make 64 KiB files, together 150 % of memory. fio opens all of them and writes 4 KiB to each
--     in turn (its default service of files), so the pages of a file lie far apart in memory and each file, open or cached, holds
--     an inode, a dentry, a node of the index and buffer heads. Then everything is written to disk.
--   measured: four readers take a file of their own at random, read its pages in random order (POSIX_FADV_RANDOM: no readahead),
--     and go on to the next. After as long as the writing took, threads fault regions of 2 MiB, together 40 % of memory (half of
--     the 80 % that they are asked for): write one byte, see whether it became huge, fill the region, note the time. So a fault's
--     latency includes the fill. Then the readers are killed, five seconds pass, and the files are deleted.
-- Several numbers of threads run one after the other beside the same readers (phases t<threads>), as older versions of mmtests did:
-- a later step finds the huge blocks that the step before has freed, as nothing but the readers takes memory in between.
--
-- What the mail leaves open, and what we chose:
--   cpus         16: the program starts (CPUs - 4) / 4 threads. The published 2.25 % of system time over 98.8 s are 2.2 CPU seconds
--                for each CPU; some 25 to 35 s are what the readers, the faults and kswapd need.
--   threads      3, what follows from 16 CPUs.
--   swap         none: the anonymous memory and the kernel fit beside the page cache.
--   disk_rate    260 MB/s: writing and warming up take as long as each other, so elapsed time says how long writing took.
--   disk_latency 160 us: from the read rate, with the half of the reads that the cache serves.
--   fill         memset of 2 MiB of mapped memory at 11 GB/s.
--   burners      3 for each CPU: from the published latency of faults on busy CPUs, of which our kernel work explains a third.
--                It does not move the share of huge faults (docs/MIN-FREE.md).
--   settle       sync, and the time until the flusher has written what was dirtied last.
-- So elapsed time, read rate and busy latency are no predictions; everything else is. Nothing was reduced against the mail.
--
-- Run-to-run variation comes from the load alone: the order in which files and pages are read, writers that compute for 0 to 200 us
-- before each pass, and threads that begin at a random moment within 200 ms.

scenario {
  summary = "huge page faults while small files stream through the page cache: does THP need a larger min_free_kbytes?",

  options = {
    { name = "threads",     kind = "text", default = "3", help = "numbers of faulting threads, one phase each" },
    { name = "working_set", kind = "int",  default = 80, min = 1, max = 200, help = "per cent of memory that the threads are asked to fault" },
    { name = "touched",     kind = "int",  default = 50, min = 1, max = 100, help = "per cent of the working set that the program really faults" },
    { name = "files",       kind = "int",  default = 150, min = 1, max = 1000, help = "total of the files, per cent of memory" },
    { name = "file_size",   kind = "size", default = "64K", min = "64K", max = "64M", multiple = "64K", help = "of each file" },
    { name = "fio",         kind = "int",  default = 4, min = 1, max = 64, help = "writers, and then readers" },
    { name = "load",        kind = "choice", default = "idle", choices = { "idle", "busy" }, help = "of the CPUs" },
    { name = "burners",     kind = "int",  default = 3, min = 1, max = 64, help = "computing processes for each CPU where the load is busy" },
    { name = "held",        kind = "size", default = "0", help = "memory that a process keeps locked; --scale is the size of the load then" },
    { name = "fill",        kind = "duration", default = "190us", help = "time to fill 2 MiB that are mapped" },
    { name = "settle",      kind = "duration", default = "40s", help = "until the last dirty pages are written" },
    { name = "disk_latency", kind = "duration", default = "160us", min = "1us", max = "1s", help = "of a read; a write takes half of it" },
    { name = "disk_rate",   kind = "size", default = "260M", min = "1M", max = "64G", help = "bytes that the disk moves in a second" },
    { name = "disk_queue",  kind = "int",  default = 32, min = 1, max = 1024, help = "requests at once" },
  },

  machine = { memory = "16G", cpus = 16, swap = "0", memory_min = "512M" },
  kernel  = { ["thp.enabled"] = "madvise", ["thp.defrag"] = "madvise" },

  metrics = {
    { name = "faults_huge_pct",  unit = "%",     better = "higher" },
    { name = "fault_latency_us", unit = "us",    better = "lower" },
    { name = "fault_huge_us",    unit = "us",    better = "lower", headline = false },
    { name = "fault_base_us",    unit = "us",    better = "lower", headline = false },
    { name = "faults",           unit = "faults", headline = false },
    { name = "elapsed_s",        unit = "s",     better = "lower" },
    { name = "read_gib_s",       unit = "GiB/s", better = "higher" },
    { name = "cpu_busy_pct",     unit = "%" },
    { name = "cpu_system_pct",   unit = "%",     better = "lower" },
    { name = "stalls",           unit = "stalls", better = "lower" },
    { name = "failures",         unit = "stalls", better = "lower" },
    { name = "migrate_scanned",  unit = "pages", better = "lower" },
    { name = "daemon_migrate_scanned", unit = "pages" },
    { name = "free_scanned",     unit = "pages", better = "lower" },
    { name = "daemon_free_scanned", unit = "pages" },
    { name = "direct_scanned",   unit = "pages", better = "lower" },
    { name = "kswapd_scanned",   unit = "pages" },
  },

  -- the busy experiment, which has more figures; docs/MIN-FREE.md has both
  published = {
    { metric = "faults_huge_pct",  phase = "all", base = "9.92 (SD 2.64)", changed = "9.12 (SD 2.95)", change = "no-thp-min-free" },
    { metric = "fault_latency_us", phase = "all", base = "4923 (SD 181)", changed = "4856 (SD 132)", change = "no-thp-min-free" },
    { metric = "elapsed_s",        phase = "all", base = "98.82",    changed = "98.33",    change = "no-thp-min-free" },
    { metric = "read_gib_s",       phase = "all", base = "0.2142",   changed = "0.2152",   change = "no-thp-min-free" },
    { metric = "cpu_busy_pct",     phase = "all", base = "99.7",     changed = "99.7",     change = "no-thp-min-free" },
    { metric = "cpu_system_pct",   phase = "all", base = "2.25",     changed = "2.22",     change = "no-thp-min-free" },
    { metric = "stalls",           phase = "all", base = "1476",     changed = "1514",     change = "no-thp-min-free" },
    { metric = "failures",         phase = "all", base = "1265",     changed = "1319",     change = "no-thp-min-free" },
    { metric = "migrate_scanned",  phase = "all", base = "3983598",  changed = "4563788",  change = "no-thp-min-free" },
    { metric = "daemon_migrate_scanned", phase = "all", base = "1242728", changed = "1944022", change = "no-thp-min-free" },
    { metric = "free_scanned",     phase = "all", base = "17689565", changed = "20461694", change = "no-thp-min-free" },
    { metric = "daemon_free_scanned", phase = "all", base = "2608710", changed = "4426810", change = "no-thp-min-free" },
    { metric = "direct_scanned",   phase = "all", base = "1339044",  changed = "1344907",  change = "no-thp-min-free" },
    { metric = "kswapd_scanned",   phase = "all", base = "2011323",  changed = "2141355",  change = "no-thp-min-free" },
  },
}

-- Numbers in a text like "1,3,5".
local function numbers(text)
  local list, value = {}, nil
  for i = 1, #text + 1 do
    local digit = (string.byte(text, i) or 44) - 48
    if digit >= 0 and digit <= 9 then
      value = (value or 0) * 10 + digit
    else
      if digit ~= 44 - 48 or not value or value < 1 or value > 256 then
        error("threads: \"" .. text .. "\" is not a list of numbers from 1 to 256, as in 1,3,5")
      end
      table.insert(list, value)
      value = nil
    end
  end
  return list
end

local steps = numbers(options.threads)
local files_each = math.max(machine.scale // 100 * options.files // (options.fio * options.file_size), 1)
local working_set = machine.scale // 100 * options.working_set // 100 * options.touched

-- Bodies tell each other how far they are.
local sets, read_bytes = {}, 0

-- fio, readwrite=write: all files are made and open; one block to each of them in turn.
local function writer(number)
  local mine = create_files(files_each, options.file_size, "ext4")
  open_files(mine)
  sets[number] = mine
  for offset = 0, options.file_size - 1, machine.page do
    write_files(mine, { offset = offset, length = machine.page })
    compute(uniform(0, 200 * us))
  end
  close_files(mine)
end

-- fio, readwrite=randread, file_service_type=random:16: all blocks of a file in random order, then another file.
local function reader(number)
  while true do
    local files = read_files(sets[number], { files = 16, random = true })
    read_bytes = read_bytes + files * options.file_size
  end
end

local function burner()
  while true do compute(10 * ms) end
end

-- Faults `bytes`, region by region; result: faults and time by kind.
local function fault_regions(bytes, result)
  sleep(uniform(0, 200 * ms))
  local memory = map(bytes, "huge")
  for offset = 0, bytes - 1, machine.huge do
    local start = clock()
    touch(memory, { offset = offset, length = machine.page })
    local kind = huge_pages(memory, { offset = offset, length = machine.huge }) > 0 and "huge" or "base"
    touch(memory, { offset = offset + machine.page, length = machine.huge - machine.page })
    compute(options.fill * machine.huge // (2 * MiB))
    result[kind] = result[kind] + 1
    result[kind .. "_ns"] = result[kind .. "_ns"] + clock() - start
  end
end

local function challenge(threads, result)
  local share = math.max(working_set // threads // machine.huge, 1) * machine.huge
  for i = 1, threads do thread(fault_regions, share, result) end
  wait()
end

local function report(phase, result)
  local faults = result.huge + result.base
  record("faults_huge_pct", phase, 100 * result.huge, faults)
  record("fault_latency_us", phase, result.huge_ns + result.base_ns, 1000 * faults)
  record("fault_huge_us", phase, result.huge_ns, 1000 * result.huge)
  record("fault_base_us", phase, result.base_ns, 1000 * result.base)
  record("faults", phase, faults)
end

-- Under the names that the mail has, for the whole only.
local counters = {
  { "stalls", "compact_stall" }, { "failures", "compact_fail" },
  { "migrate_scanned", "compact_migrate_scanned" }, { "daemon_migrate_scanned", "compact_daemon_migrate_scanned" },
  { "free_scanned", "compact_free_scanned" }, { "daemon_free_scanned", "compact_daemon_free_scanned" },
  { "direct_scanned", "pgscan_direct" }, { "kswapd_scanned", "pgscan_kswapd" },
}

local function read_counters()
  local now = { user = counter("cpu_user_ns"), system = counter("cpu_system_ns") }
  for _, pair in ipairs(counters) do now[pair[1]] = counter(pair[2]) end
  return now
end

local function report_whole(total, before)
  local now = read_counters()
  sample("all")
  report("all", total)
  for _, pair in ipairs(counters) do record(pair[1], "all", now[pair[1]] - before[pair[1]]) end
end

-- The end of the measured part, after the sample: nothing compacts in it, and a census of the empty cache says little.
local function clean_up(readers, start, before)
  for i = 1, options.fio do kill(readers[i]) end
  sleep(5 * sec)
  for i = 1, options.fio do delete_files(sets[i]) end
  local ns, now = clock() - start, read_counters()
  local user, system = now.user - before.user, now.system - before.system
  record("elapsed_s", "all", ns // 1000, 1000000)
  record("cpu_busy_pct", "all", 100 * (user + system), ns * machine.cpus)
  record("cpu_system_pct", "all", 100 * system, ns * machine.cpus)
end

local function set_disk()
  set("disk.read_latency_ns", tostring(options.disk_latency))
  set("disk.write_latency_ns", tostring(math.max(options.disk_latency // 2, 1)))
  set("disk.bytes_per_s", tostring(options.disk_rate))
  set("disk.queue", tostring(options.disk_queue))
end

local function start_load()
  if options.load == "busy" then
    for i = 1, options.burners * machine.cpus do process("burner", i, burner) end
  end
end

local function write_files_first()
  local handles = {}
  for i = 1, options.fio do handles[i] = process("writer", i, writer, i) end
  for i = 1, options.fio do wait(handles[i]) end
end

local function new_result() return { huge = 0, base = 0, huge_ns = 0, base_ns = 0 } end

-- The rest of a machine that is larger than the load.
local function holder()
  local memory = map(options.held, "huge", "locked")
  touch(memory)
  sample("held")
  pause()
end

function main()
  set_disk()
  if options.held > 0 then
    process("holder", 1, holder)
    sleep(2 * sec)
  end
  local from = clock()
  write_files_first()
  local writing = clock() - from
  sleep(options.settle)
  start_load()
  local start = clock()
  measure()
  local before = read_counters()
  local readers = {}
  for i = 1, options.fio do readers[i] = process("reader", i, reader, i) end
  sleep(writing)
  local total = new_result()
  for i, threads in ipairs(steps) do
    local result = new_result()
    if wait(process("challenge", i, challenge, threads, result)) then error("the challenge died of lack of memory") end
    sample("t" .. threads)
    report("t" .. threads, result)
    for key, value in pairs(result) do total[key] = total[key] + value end
  end
  local reading = clock() - start
  record("read_gib_s", "all", read_bytes // KiB * 1000000, reading // 1000 * MiB)
  report_whole(total, before)
  clean_up(readers, start, before)
end
