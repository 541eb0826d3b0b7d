-- kernel-build: does compaction that knows small huge pages make a build on a small machine faster?
--
-- The experiment of "mm: compaction: mTHP-friendly memory compaction" (mthp set, August 2026): 2700 MB, no mTHP at boot,
-- defrag = defer+madvise; then 16 kB = always and kernel builds with -j20, four rounds. Beside it a loop writes 50 to
-- vm.compaction_proactiveness every 0.1 s. 16 kB is enabled just before round 0. (thp.enabled is madvise: with always,
-- heaps would be of 2 MB pages, and the mail has 6.4 million faults of 16 kB.)
--
-- What follows from the figures of the mail:
--   cpus       16: (user + sys) / real is 15.2 to 15.5 in seven of its eight runs.
--   whole      1270 jobs: 6.4 million faults of 16 kB are 100 GB of memory in a build, at `job_size`.
--   job_time   1200 ms: 1520 s of user time in a build.
-- What was measured: Linux 6.12, x86_64 defconfig, gcc 12, the objects of fs/ext4, net/unix and kernel/time (63 compilations; GNU time
-- for sizes, strace -f -c for calls, /proc/PID/status every 20 ms for the growth; three system calls in four are of helpers and look-ups):
--   job_size   80 MiB of anonymous memory at the end of a cc1 (largest resident set 98 MB, 18 MB of it text), size_spread 32: sigma of its
--              logarithm (56 to 231 MB). time_spread 29: sigma of the logarithm of user time per byte.
--   front      a cc1 has 82 % of its memory after 38 % of its time: it reads declarations first, then works on functions.
--   headers    690 files are read by a job, of 19 KB on average, nearly all of them by other jobs too: they stay cached.
--   missed     1900 of 3400 openat() of a job name what is not there (include paths, libraries).
--   helpers    31 more processes a job (sh, gcc, as, fixdep, rm, ...), each of some 100 faults, 40 of them pages of its own.
--   source     32 KiB that no other job reads, in one file.
--   object     190 KiB written by a job: 126 KB of object, 56 KB of make's record. With debugging information it is several times that. The objects
--              of a build are deleted before the next one; those of a part of it before that part of the tree is built again.
--   temporary  324 KB of assembler text, written bit by bit while it compiles, read once, deleted.
--   small      memory of the cc1 in base pages: data, bss, stacks.
--   compiler   its text (33 MB), a file that every job maps and reads two thirds of.
-- What nobody said, and what we chose:
--   system     memory of what else runs, touched before 16 kB is enabled, left alone afterwards; with holes > 0 it had more and
--              gave single pages back. docs/MTHP.md has the row of sizes.
--   cached     files that were read before (the tree was unpacked), so that memory is full when the builds begin.
--   before     builds before round 0, without mTHP. The mail says "mTHP disabled initially" and that memory first has to
--              become friendly to mTHP: so it was used by base pages before.
--
-- `jobs` is what a round runs of the 1270: by default a tenth, so that a run takes seconds. Every round takes the
-- next part of the tree, as a whole build would; counts and times named build_* are scaled to `whole` jobs, and fallback_pct
-- does not depend on the number. Round 0 of the mail is a whole build: with few jobs, ours is its beginning.

scenario {
  summary = "a build with -j20 on a small machine; 16 kB pages enabled just before",

  options = {
    { name = "rounds",      kind = "int",  default = 4, min = 1, max = 100, help = "builds that are measured" },
    { name = "before",      kind = "int",  default = 1, min = 0, max = 10, help = "builds before 16 kB is enabled" },
    { name = "jobs",        kind = "int",  default = 127, min = 1, max = 100000, help = "jobs of a round" },
    { name = "whole",       kind = "int",  default = 1270, min = 1, max = 100000, help = "jobs of a whole build" },
    { name = "parallel",    kind = "int",  default = 20, min = 1, max = 1000, help = "jobs at a time (make -j)" },
    { name = "job_size",    kind = "size", default = "80M", min = "1M", help = "heap of a job, mean" },
    { name = "size_spread", kind = "int",  default = 32, min = 0, max = 100, help = "sigma of its logarithm, per cent" },
    { name = "job_time",    kind = "duration", default = "1200ms", help = "time that a job of mean size computes" },
    { name = "time_spread", kind = "int",  default = 29, min = 0, max = 100, help = "sigma of the logarithm of time per size, per cent" },
    { name = "front",       kind = "int",  default = 82, min = 38, max = 100, help = "per cent of the heap that a job has after 38 % of its time" },
    { name = "source",      kind = "size", default = "32K", min = "4K", help = "files that a job alone reads" },
    { name = "headers",     kind = "int",  default = 690, min = 1, max = 100000, help = "files of 20 KiB that every job reads" },
    { name = "missed",      kind = "int",  default = 1900, min = 0, max = 1000000, help = "names that a job looks up in vain" },
    { name = "helpers",     kind = "int",  default = 31, min = 0, max = 1000, help = "short processes of a job, one after another" },
    { name = "object",      kind = "size", default = "190K", min = "4K", help = "what a job writes" },
    { name = "file",        kind = "size", default = "64K", min = "4K", help = "size of a source or object file at most" },
    { name = "temporary",   kind = "size", default = "324K", min = "4K", help = "assembler text of a job, written, read and deleted" },
    { name = "small",       kind = "size", default = "2M", min = "4K", help = "memory of a job in base pages" },
    { name = "compiler",    kind = "size", default = "33M", min = "1M", help = "text of the compiler" },
    { name = "system",      kind = "size", default = "1G", min = "2M", help = "memory of the rest of the system" },
    { name = "holes",       kind = "int",  default = 0, min = 0, max = 90, help = "per cent of what it touched that it gave back, page by page at random" },
    { name = "cached",      kind = "size", default = "2G", min = "2M", help = "files that were read before" },
    { name = "orders",      kind = "choice", default = "16", choices = { "16", "16+64", "16+2048" },
      help = "sizes in kB that are set to always" },
    { name = "proactiveness", kind = "int", default = 50, min = 0, max = 100, help = "vm.compaction_proactiveness; what the writer writes" },
    { name = "period",      kind = "duration", default = "100ms", help = "of the writes; 0: written once, kcompactd's own timer" },
    { name = "probe",       kind = "size", default = "32M", min = "2M", multiple = "2M", help = "memory of the probe for huge pages" },
    { name = "advised",     kind = "bool", default = false, help = "heaps of the jobs are MADV_HUGEPAGE" },
  },

  machine = { memory = "2700M", cpus = 16, memory_min = "1G", swap = "2G" },
  kernel  = { ["thp.enabled"] = "madvise", ["thp.defrag"] = "defer+madvise" },

  metrics = {
    { name = "build_real_s",  unit = "s", better = "lower" },
    { name = "build_user_s",  unit = "s", headline = false },
    { name = "build_sys_s",   unit = "s", better = "lower" },
    { name = "build_fault_alloc", better = "higher", headline = false },
    { name = "build_fault_fallback", better = "lower" },
    { name = "fallback_pct",  unit = "%", better = "lower" },
    { name = "thp_probe_success_pct", unit = "%", better = "higher" },
  },

  published = {
    { metric = "build_real_s", phase = "round0", base = "121.3", changed = "115.9", change = "mthp-score" },
    { metric = "build_real_s", phase = "round1", base = "115.4", changed = "111.3", change = "mthp-score" },
    { metric = "build_real_s", phase = "round2", base = "127.6", changed = "111.5", change = "mthp-score" },
    { metric = "build_real_s", phase = "round3", base = "113.8", changed = "113.0", change = "mthp-score" },
    { metric = "build_user_s", phase = "round0", base = "1539.0", changed = "1517.0", change = "mthp-score" },
    { metric = "build_user_s", phase = "round1", base = "1524.5", changed = "1516.5", change = "mthp-score" },
    { metric = "build_user_s", phase = "round2", base = "1511.5", changed = "1513.1", change = "mthp-score" },
    { metric = "build_user_s", phase = "round3", base = "1526.8", changed = "1508.2", change = "mthp-score" },
    { metric = "build_sys_s", phase = "round0", base = "316.9", changed = "264.5", change = "mthp-score" },
    { metric = "build_sys_s", phase = "round1", base = "232.5", changed = "206.6", change = "mthp-score" },
    { metric = "build_sys_s", phase = "round2", base = "225.5", changed = "208.5", change = "mthp-score" },
    { metric = "build_sys_s", phase = "round3", base = "222.2", changed = "217.5", change = "mthp-score" },
    { metric = "build_fault_alloc", phase = "round0", base = "6328991", changed = "6354486", change = "mthp-score" },
    { metric = "build_fault_alloc", phase = "round1", base = "6355263", changed = "6392515", change = "mthp-score" },
    { metric = "build_fault_alloc", phase = "round2", base = "6355816", changed = "6395096", change = "mthp-score" },
    { metric = "build_fault_alloc", phase = "round3", base = "6355457", changed = "6389556", change = "mthp-score" },
    { metric = "build_fault_fallback", phase = "round0", base = "214553", changed = "109845", change = "mthp-score" },
    { metric = "build_fault_fallback", phase = "round1", base = "108692", changed = "69797", change = "mthp-score" },
    { metric = "build_fault_fallback", phase = "round2", base = "107852", changed = "67510", change = "mthp-score" },
    { metric = "build_fault_fallback", phase = "round3", base = "107705", changed = "72743", change = "mthp-score" },
    { metric = "fallback_pct", phase = "round0", base = "3.28", changed = "1.70", change = "mthp-score" },
    { metric = "fallback_pct", phase = "round1", base = "1.68", changed = "1.08", change = "mthp-score" },
    { metric = "fallback_pct", phase = "round2", base = "1.67", changed = "1.04", change = "mthp-score" },
    { metric = "fallback_pct", phase = "round3", base = "1.67", changed = "1.13", change = "mthp-score" },
  },
}

local step_bytes = MiB -- of heap between two pieces of computing

-- Median of a log-normal distribution with this mean: mean / exp(sigma^2 / 2), by the first terms of the series.
local function median_of(mean, spread)
  local x = spread * spread / 20000
  return math.floor(mean / (1 + x + x * x / 2 + x * x * x / 6))
end
local size_median = median_of(options.job_size, options.size_spread)
local time_median = median_of(1000, options.time_spread)

local headers, compiler, libraries
local sources, objects = {}, {}

-- A shell, a driver, make, fixdep, ...: of the size of those that an strace of a build shows.
local function helper()
  local text = map_file(libraries, 1)
  touch(text, { read = true, stride = 64 * KiB })
  touch(map(160 * KiB, "nohuge"))
end

-- What a job computes while it touches `bytes` of its heap from `offset` on: 38 % of its time for the front of the heap.
local function time_of(offset, bytes, heap_bytes, total)
  local front = heap_bytes * options.front // 100
  if offset < front then return total * 38 // 100 * bytes // math.max(front, 1) end
  return total * 62 // 100 * bytes // math.max(heap_bytes - front, 1)
end

-- The share of `total` that belongs to this step of `steps`, in whole pages from the first on.
local function part_of(total, step, steps)
  local page = machine.page
  local first, last = total // page * step // steps, total // page * (step + 1) // steps
  return first * page, (last - first) * page
end

-- The cc1 of a job: declarations, then functions, with its text and its temporary file.
local function work(heap_bytes, total)
  local heap = options.advised and map(heap_bytes, "huge") or map(heap_bytes)
  local small = map(options.small, "nohuge")
  local temporary = create_files(1, options.temporary, "ext4")
  local steps, step = (heap_bytes + step_bytes - 1) // step_bytes, 0
  for offset = 0, heap_bytes - 1, step_bytes do
    local bytes = math.min(step_bytes, heap_bytes - offset)
    touch(heap, { offset = offset, length = bytes })
    for _, kind in ipairs({ "small", "temporary" }) do
      local at, length = part_of(options[kind], step, steps)
      if length > 0 and kind == "small" then touch(small, { offset = at, length = length }) end
      if length > 0 and kind == "temporary" then write_files(temporary, { offset = at, length = length }) end
    end
    compute(time_of(offset, bytes, heap_bytes, total))
    step = step + 1
  end
  return temporary
end

local function compile(unit, number)
  local heap_bytes = lognormal(size_median, options.size_spread)
  heap_bytes = math.max(heap_bytes // machine.page, 16) * machine.page
  local total = options.job_time // 1000 * lognormal(time_median, options.time_spread) // (options.job_size // KiB) * (heap_bytes // KiB)
  for i = 1, options.helpers do wait(process("sh", number * options.helpers + i, helper)) end
  local text = map_file(compiler, 1)
  touch(text, { read = true, random = true, stride = 3 * machine.page })
  look_up(options.missed)
  read_files(headers)
  read_files(sources[unit])
  local temporary = work(heap_bytes, total)
  objects[unit] = create_files(math.max(options.object // options.file, 1), math.min(options.object, options.file), "ext4")
  write_files(objects[unit])
  read_files(temporary)
  delete_files(temporary)
end

-- Part `build` of the tree: as many makers as jobs run at a time, each starts the next job and waits for it.
local function make(build)
  local next_job = 0
  for slot = 1, options.parallel do
    thread(function()
      while next_job < options.jobs do
        next_job = next_job + 1
        local number = build * options.jobs + next_job
        local unit = (number - 1) % options.whole + 1
        if objects[unit] then
          delete_files(objects[unit])
          objects[unit] = nil
        end
        sources[unit] = sources[unit] or
          create_files(math.max(options.source // options.file, 1), math.min(options.source, options.file), "ext4")
        wait(process("cc", number, compile, unit, number))
      end
    end)
  end
  wait()
end

local function clean()
  for unit = 1, options.whole do
    if objects[unit] then
      delete_files(objects[unit])
      objects[unit] = nil
    end
  end
end

local function rest_of_system()
  local bytes = options.system * 100 // (100 - options.holes) // machine.page * machine.page
  local memory = map(bytes, "nohuge")
  touch(memory)
  discard(memory, (bytes - options.system) // machine.page)
  pause()
end

local function writer()
  while true do
    set("vm.compaction_proactiveness", options.proactiveness)
    if options.period == 0 then pause() end
    sleep(options.period)
  end
end

local function enable()
  set("hugepages-16kB.enabled", "always")
  if options.orders == "16+64" then set("hugepages-64kB.enabled", "always") end
  if options.orders == "16+2048" then set("hugepages-2048kB.enabled", "always") end
end

local function probe(phase)
  local memory = map(options.probe, "huge")
  touch(memory, { stride = machine.huge })
  record("thp_probe_success_pct", phase, 100 * huge_pages(memory), options.probe // machine.huge)
end

local watched = { build_user_s = "cpu_user_ns", build_sys_s = "cpu_system_ns",
                  build_fault_alloc = "anon_fault_alloc_16kB", build_fault_fallback = "anon_fault_fallback_16kB" }

local function run_round(round)
  local phase, before, delta, start = "round" .. round, {}, {}, clock()
  if options.jobs >= options.whole then clean() end
  for name, source in pairs(watched) do before[name] = counter(source) end
  wait(process("make", options.before + round, make, options.before + round))
  for name, source in pairs(watched) do delta[name] = counter(source) - before[name] end
  record("build_real_s", phase, (clock() - start) * options.whole // options.jobs, sec)
  for name, source in pairs(watched) do
    record(name, phase, delta[name] * options.whole // options.jobs, name:sub(-2) == "_s" and sec or 1)
  end
  record("fallback_pct", phase, 100 * delta.build_fault_fallback, delta.build_fault_alloc + delta.build_fault_fallback)
  sample(phase)
  wait(process("probe", round, probe, phase))
  sample("probe" .. round)
end

function main()
  headers = create_files(options.headers, 20 * KiB, "ext4")
  libraries = create_files(1, 2 * MiB, "ext4")
  compiler = create_files(1, options.compiler, "ext4")
  process("system", rest_of_system)
  for part = 1, options.cached // (64 * MiB) do read_files(create_files(1, 64 * MiB, "ext4")) end
  process("writer", writer)
  for build = 0, options.before - 1 do wait(process("make", build, make, build)) end
  sample("before")
  measure()
  enable()
  for round = 0, options.rounds - 1 do run_round(round) end
  sample("all")
end
