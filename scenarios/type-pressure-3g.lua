-- type-pressure-3g: unmovable memory grows round by round on a machine of 3 GiB that is full of aged movable memory.
--
-- The small sister of type-pressure, step by step the load of which recordings of real kernels exist (6.12.117 with and
-- without the placement patches of the mobility series; docs/FIDELITY.md has the comparison). So there are no open
-- choices here: each default is what was recorded.
--
--   s0                 idle
--   s1_flood           896 MiB touched in address order, mlocked, every second page dropped: free pages in all orders
--                      below a pair are gone from a third of the memory
--   s2_base            1720 MiB in 860 units, kernel memory after each unit (a pipe with 4 pages, a socket pair with two
--                      messages, 8 empty files), every third pipe closed, a quarter of the pages dropped and refaulted
--   r<N>.0start        (from the second round on) the aged process has written all its pages again
--   r<N>.1drain        a new process has touched 640 MiB and less each round: nothing is free
--   r<N>.2demand       21 processes of 1100 page tables each, 9400 files: about 25 500 unmovable pages, kept to the end
--   r<N>.3probe        two threads touch 64 MiB each with MADV_HUGEPAGE: 64 attempts. Its metrics are in phase r<N>, too
--   s9_end
--
-- The machine has no zone DMA, and its memory below 4 GiB ends at 256 MiB, so that Normal is the preferred zone. What lies
-- in the reserved ranges is the kernel, its initramfs and the memory map. The recorder itself held 2025 mlocked pages. How long it
-- took to write a sample down was not recorded: option dump.

scenario {
  summary = "A/B of placement on a full machine of 3 GiB, beside recordings of a real kernel",

  options = {
    { name = "rounds",    kind = "int",  default = 8, min = 1, max = 100, help = "rounds of demand" },
    { name = "flood",     kind = "size", default = "896M", min = "2M", multiple = "2M", help = "touched and mlocked; half of it is dropped" },
    { name = "aged",      kind = "size", default = "1720M", min = "2M", multiple = "2M", help = "memory of the aged process" },
    { name = "unit",      kind = "size", default = "2M", min = "2M", multiple = "2M", help = "of it that is touched between two pieces of kernel memory" },
    { name = "pipe",      kind = "size", default = "16K", min = "0", max = "64K", help = "data in the pipe of each unit" },
    { name = "message",   kind = "int",  default = 2000, min = 1, max = 65536, help = "bytes of each of the two messages in the socket pair of each unit" },
    { name = "files",     kind = "int",  default = 8, min = 1, max = 1000, help = "empty tmpfs files of each unit" },
    { name = "ageing",    kind = "int",  default = 25, min = 0, max = 100, help = "per cent of the aged pages that are dropped and refaulted" },
    { name = "batch",     kind = "int",  default = 8192, min = 1, max = 65536, help = "pages dropped before they are refaulted" },
    { name = "drain",     kind = "size", default = "740M", min = "2M", multiple = "2M", help = "memory of the drain in round 1" },
    { name = "drain_less", kind = "size", default = "100M", min = "0", multiple = "2M", help = "by which it shrinks each round" },
    { name = "demand_processes", kind = "int", default = 21, min = 0, max = 1000, help = "processes of page tables in each round" },
    { name = "demand_tables",    kind = "int", default = 1100, min = 1, max = 100000, help = "page tables of each" },
    { name = "demand_files",     kind = "int", default = 9400, min = 0, max = 1000000, help = "empty tmpfs files in each round" },
    { name = "rest",      kind = "duration", default = "2s", help = "sleep after the demand" },
    { name = "probe",     kind = "size", default = "128M", min = "4M", multiple = "2M", help = "memory of the probe" },
    { name = "probe_threads", kind = "int", default = 2, min = 1, max = 64, help = "threads that touch it" },
    { name = "dump",      kind = "duration", default = "2s", help = "time that the recorder takes for a sample: daemons go on meanwhile" },
    { name = "recorder",  kind = "size", default = "8100K", min = "0", help = "mlocked memory of the process that records" },
  },

  machine = {
    memory = "3G", below_4g = "256M", swap = "1G", cpus = 2, zone_dma = false, memory_min = "3G",
    reserved = {
      { 0x0, 0x100000 }, { 0x1000000, 0x196b000 }, { 0x1a00000, 0x1b3d000 }, { 0x1c00000, 0x1dc7000 },
      { 0x1e00000, 0x1e10000 }, { 0xbeb6000, 0xfedc000 },
      { 0x1ac600000, 0x1acc00000 }, { 0x1acc00000, 0x1acc6a000 }, { 0x1ace00000, 0x1afe00000 }, { 0x1aff2f000, 0x1b0000000 },
    },
    held = "14M",
    slowness = 20, -- the CPUs of the recordings were emulated; the disks were not
  },
  kernel = { ["thp.enabled"] = "always", ["thp.defrag"] = "always", ["khugepaged.scan_sleep_millisecs"] = "3600000" },

  metrics = {
    { name = "thp_success_pct",      unit = "%",          better = "higher" },
    { name = "polluted_pageblocks",  unit = "pageblocks", better = "lower" },
    { name = "unmovable_pageblocks", unit = "pageblocks", better = "lower" },
    { name = "mixed_pageblocks",     unit = "pageblocks", better = "lower" },
    { name = "unmovable_pages",      unit = "pages" },
    { name = "rounds_below_50",      unit = "rounds",     better = "lower" },
    { name = "rounds_counted",       unit = "rounds",     better = "higher" },
    { name = "rounds_died",          unit = "rounds",     better = "lower" },
  },
}

-- A sample is the state of a moment, but it takes the recorder a while to write it down.
local function dump(name)
  sample(name)
  sleep(options.dump)
end

local function recorder()
  if options.recorder >= machine.page then
    local memory = map(options.recorder // machine.page * machine.page, "nohuge", "locked")
    touch(memory)
  end
  pause()
end

local function flood()
  local memory = map(options.flood, "nohuge")
  touch(memory)
  mlock(memory)
  for offset = machine.page, options.flood - 1, 2 * machine.page do
    advise(memory, "dontneed_locked", { offset = offset, length = machine.page })
  end
end

local function aged_units(memory)
  local pipe_sets = {}
  for offset = 0, options.aged - 1, options.unit do
    touch(memory, { offset = offset, length = math.min(options.unit, options.aged - offset) })
    table.insert(pipe_sets, pipes(1, options.pipe) or 0)
    sockets(1, 2 * options.message, options.message)
    create_files(options.files, 0, "tmpfs")
  end
  for i = 3, #pipe_sets, 3 do
    if pipe_sets[i] ~= 0 then close(pipe_sets[i]) end
  end
end

-- Pages drawn with replacement: a batch is dropped, then refaulted in another order.
local function age(memory)
  local pages, left = options.aged // machine.page, options.aged // machine.page * options.ageing // 100
  while left > 0 do
    local batch = {}
    for i = 1, math.min(options.batch, left) do
      batch[i] = uniform(0, pages - 1) * machine.page
    end
    left = left - #batch
    for i, offset in ipairs(batch) do
      advise(memory, "dontneed", { offset = offset, length = machine.page })
    end
    for i = #batch, 2, -1 do
      local j = uniform(1, i)
      batch[i], batch[j] = batch[j], batch[i]
    end
    for i, offset in ipairs(batch) do
      touch(memory, { offset = offset, length = machine.page })
    end
  end
end

-- Waits until the body of a process has said that it is ready, or the process has died.
local ready = {}
local function until_ready(name)
  for i = 1, 10000000 do
    if ready[name] then return end
    sleep(1 * ms)
  end
end

-- The aged process writes its memory again at the start of each round when it is told to. It adds to a byte of each page,
-- and the emulated CPU loads the byte before it stores it: so what was swapped out comes in by a read fault and keeps its
-- swap slot, until half of the swap is in use. (The recordings show it: nr_swapcached grows by the number of faults.)
local function aged()
  local memory = map(options.aged, "nohuge")
  aged_units(memory)
  age(memory)
  ready.aged = true
  for round = 2, options.rounds do
    until_ready("round" .. round)
    touch(memory, { modify = true })
    ready["rewritten" .. round] = true
  end
  pause()
end

local function drain(name, size)
  touch(map(size, "nohuge"))
  ready[name] = true
  pause()
end

local function tables(name)
  map_sparse(options.demand_tables, machine.huge, "read")
  ready[name] = true
  pause()
end

local function demand(round)
  for i = 1, options.demand_processes do
    local number = (round - 1) * options.demand_processes + i
    process("tables", number, tables, "tables" .. number)
    until_ready("tables" .. number)
  end
  if options.demand_files > 0 then create_files(options.demand_files, 0, "tmpfs") end
  sleep(options.rest)
end

-- The sample is taken while the memory of the probe is mapped.
local function probe(name)
  local memory = map(options.probe, "huge")
  local share = options.probe // options.probe_threads // machine.huge * machine.huge
  local before = { counter("thp_fault_alloc"), counter("thp_fault_fallback") }
  for offset = 0, share * options.probe_threads - 1, share do
    thread(function() touch(memory, { offset = offset, length = share }) end)
  end
  wait()
  local made = counter("thp_fault_alloc") - before[1]
  local tries = made + counter("thp_fault_fallback") - before[2]
  ready[name] = { made = made, tries = tries }
  dump(name .. ".3probe")
end

-- What the metrics of a round are: the success of the probe; census and counters of the whole round stand in its steps.
local below, counted, died = 0, 0, 0
local function judge(name, has_died)
  local result = ready[name]
  if has_died or not result or result.tries == 0 then
    died = died + 1
    record("thp_success_pct", name, nil)
  else
    counted = counted + 1
    if 2 * result.made < result.tries then below = below + 1 end
    record("thp_success_pct", name, 100 * result.made, result.tries)
  end
end

local function run_round(round)
  local name = string.format("r%d", round)
  local size = math.max(options.drain - options.drain_less * (round - 1), machine.huge)
  if round > 1 then
    ready["round" .. round] = true
    until_ready("rewritten" .. round)
    dump(name .. ".0start")
  end
  local drainer = process("drain", round, drain, "drain" .. round, size)
  until_ready("drain" .. round)
  dump(name .. ".1drain")
  demand(round)
  dump(name .. ".2demand")
  local has_died = wait(process("probe", round, probe, name))
  judge(name, has_died)
  sample(name, "long")
  kill(drainer)
  wait(drainer)
end

function main()
  process("recorder", recorder)
  sleep(1 * sec)
  dump("s0")
  process("flood", function() flood(); ready.flood = true; pause() end)
  until_ready("flood")
  dump("s1_flood")
  process("aged", aged)
  until_ready("aged")
  dump("s2_base")
  sample("base", "long")
  for round = 1, options.rounds do run_round(round) end
  record("rounds_below_50", "all", below)
  record("rounds_counted", "all", counted)
  record("rounds_died", "all", died)
  sample("s9_end")
end
