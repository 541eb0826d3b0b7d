-- mthp-burst: when do faults of 16 kB fall back, if nobody may reclaim for them?
--
-- With defrag = defer+madvise a fault of a small huge page only wakes kswapd. It falls back when free memory is below the min mark, or
-- when what is free is in smaller pieces. Both come about when processes fault faster than kswapd frees: so here a few of them
-- touch new memory at full speed beside a full page cache, `pause` between two MiB, and end. The same body runs on a real kernel in a
-- virtual machine (--on live); docs/MTHP.md has both.
--
--   holes      memory of the system was touched and given back page by page at random, in per cent: what is free is scattered then.
--   pause      what a process computes for each MiB: the share of time in which kswapd runs goes down as it grows.
--   writer     vm.compaction_proactiveness is written every 0.1 s, as in the mail of the mthp set.

scenario {
  summary = "processes fault 16 kB pages faster than kswapd frees",

  options = {
    { name = "rounds",    kind = "int",  default = 4, min = 1, max = 100, help = "bursts" },
    { name = "processes", kind = "int",  default = 4, min = 1, max = 1000, help = "that fault at a time" },
    { name = "burst",     kind = "size", default = "1500M", min = "1M", multiple = "1M", help = "memory that they touch together" },
    { name = "pause",     kind = "duration", default = "0ns", help = "that each computes after a MiB" },
    { name = "system",    kind = "size", default = "500M", min = "1M", help = "memory of the rest of the system, base pages" },
    { name = "holes",     kind = "int",  default = 0, min = 0, max = 90, help = "per cent of what it touched that it gave back, page by page at random" },
    { name = "cached",    kind = "size", default = "3G", min = "64M", help = "files that were read before" },
    { name = "reread",    kind = "size", default = "1500M", min = "1M", help = "files that are read between two bursts" },
    { name = "orders",    kind = "choice", default = "16", choices = { "16", "16+64", "16+2048" }, help = "sizes in kB that are set to always" },
    { name = "advised",   kind = "bool", default = false, help = "what is touched is MADV_HUGEPAGE" },
    { name = "writer",    kind = "bool", default = false, help = "writes compaction_proactiveness = 50 every 100 ms" },
  },

  machine = { memory = "2700M", cpus = 16, memory_min = "256M", swap = "0" },
  kernel  = { ["thp.enabled"] = "madvise", ["thp.defrag"] = "defer+madvise" },

  metrics = {
    { name = "fallback_pct", unit = "%", better = "lower" },
    { name = "burst_ms",     unit = "ms", better = "lower" },
    { name = "huge_pct",     unit = "%", better = "higher", headline = false },
  },
}

local part = 64 * MiB

local function rest_of_system()
  local bytes = options.system * 100 // (100 - options.holes) // machine.page * machine.page
  local memory = map(bytes, "nohuge")
  touch(memory)
  discard(memory, (bytes - options.system) // machine.page)
  pause()
end

local function writer()
  while true do
    set("vm.compaction_proactiveness", 50)
    sleep(100 * ms)
  end
end

local function enable()
  set("hugepages-16kB.enabled", "always")
  if options.orders == "16+64" then set("hugepages-64kB.enabled", "always") end
  if options.orders == "16+2048" then set("hugepages-2048kB.enabled", "always") end
end

local function fault()
  local bytes = math.max(options.burst // options.processes // MiB, 1) * MiB
  local memory = options.advised and map(bytes, "huge") or map(bytes)
  for offset = 0, bytes - 1, MiB do
    touch(memory, { offset = offset, length = MiB })
    if options.pause > 0 then compute(options.pause) end
  end
end

local function burst(round)
  local phase, start = "round" .. round, clock()
  local got, failed = counter("anon_fault_alloc_16kB"), counter("anon_fault_fallback_16kB")
  local running = {}
  for i = 1, options.processes do running[i] = process("burst", round * options.processes + i, fault) end
  for i = 1, options.processes do wait(running[i]) end
  record("burst_ms", phase, clock() - start, ms)
  got, failed = counter("anon_fault_alloc_16kB") - got, counter("anon_fault_fallback_16kB") - failed
  record("fallback_pct", phase, 100 * failed, got + failed)
  record("huge_pct", phase, 100 * 16 * KiB * got, options.burst)
  sample(phase)
end

function main()
  process("system", rest_of_system)
  local files = {}
  for i = 1, options.cached // part do
    files[i] = create_files(1, part, "ext4")
    read_files(files[i])
  end
  if options.writer then process("writer", writer) end
  enable()
  measure()
  for round = 0, options.rounds - 1 do
    burst(round)
    for i = 1, options.reread // part do read_files(files[(round * (options.reread // part) + i - 1) % #files + 1]) end
  end
  sample("all")
end
