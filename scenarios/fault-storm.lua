-- fault-storm: how fast are first touches, and how many become huge, at each size of page?
--
-- Processes touch fresh memory, one page size at a time, first on an empty machine, then on one that was fragmented on
-- purpose: filled with base pages of which a share was given back in random places, beside kernel memory that cannot
-- move. The memory of each storm is freed in another order (address order, from the top, or page by page at random), so
-- that the next one finds the lists in a different state. Phases are named after machine and size: empty_64kB, frag_64kB.

scenario {
  summary = "first touches at each page size, on an empty and on a fragmented machine",

  options = {
    { name = "storm",     kind = "size", default = "256M", min = "4M", multiple = "2M", help = "memory that one storm touches" },
    { name = "threads",   kind = "int",  default = 4, min = 1, max = 256, help = "threads of a storm" },
    { name = "fill",      kind = "int",  default = 90, min = 0, max = 95, help = "per cent of the machine that the fragmenter touches (too much, and it is killed)" },
    { name = "holes",     kind = "int",  default = 50, min = 0, max = 100, help = "per cent of its pages that it gives back at random" },
    { name = "pipes",     kind = "int",  default = 20000, min = 0, max = 1000000, help = "pipes with a page of data beside it" },
    { name = "locked",    kind = "bool", default = "yes",
      help = "its memory is locked and stays where it is; otherwise compaction heals the machine within seconds" },
    { name = "free",      kind = "choice", default = "each", choices = { "each", "forward", "backward", "random" },
      help = "order in which a storm frees; each: one after the other" },
  },

  machine = { memory = "2G", cpus = 4, memory_min = "256M" },
  kernel  = { ["thp.enabled"] = "always", ["thp.defrag"] = "madvise",
              ["vm.compact_unevictable_allowed"] = 0 },

  metrics = {
    { name = "success_pct",          unit = "%",     better = "higher" },
    { name = "fault_latency_us",     unit = "us",    better = "lower" },
    { name = "fault_latency_p99_us", unit = "us",    better = "lower" },
    { name = "fault_latency_p999_us", unit = "us",   better = "lower" }, -- a rare tail lifts the mean above the 99th
    { name = "pgfault",              headline = false },
    { name = "polluted_pageblocks",  unit = "pageblocks", better = "lower" },
  },
}

-- Sizes from one base page to a PMD: 4, 16, 64, ... kB on a machine with 4K pages.
local sizes = {}
do
  local size = machine.page
  while size < machine.huge do
    table.insert(sizes, size // KiB)
    size = size * 4
  end
  table.insert(sizes, machine.huge // KiB)
end
local storm = math.max(math.min(options.storm, machine.scale // 8) // machine.huge, 1) * machine.huge
local free_orders = { "forward", "backward", "random" }

-- Only this size of page is enabled.
local function enable(kb)
  for i, other in ipairs(sizes) do
    if i > 1 then set(string.format("hugepages-%dkB.enabled", other), other == kb and "always" or "never") end
  end
end

local function free_memory(memory, order)
  if order == "backward" then
    for offset = storm - machine.huge, 0, -machine.huge do
      advise(memory, "dontneed", { offset = offset, length = machine.huge })
    end
  elseif order == "random" then
    discard(memory, storm // machine.page)
  end
  unmap(memory)
end

-- Threads touch their shares of one mapping at the same time; the success is what smaps and the statistics by size say.
local function run_storm(phase, kb, order)
  local alloc, fallback = string.format("anon_fault_alloc_%dkB", kb), string.format("anon_fault_fallback_%dkB", kb)
  local is_base = kb * KiB == machine.page
  local before = is_base and { 0, 0 } or { counter(alloc), counter(fallback) }
  local memory = map(storm)
  local share = storm // options.threads // machine.huge * machine.huge

  if share == 0 then share = storm end
  for offset = 0, storm - 1, share do
    thread(function() touch(memory, { offset = offset, length = math.min(share, storm - offset) }) end)
  end
  wait()
  if not is_base then
    local made, failed = counter(alloc) - before[1], counter(fallback) - before[2]
    record("success_pct", phase, 100 * made, made + failed)
  end
  sample(phase)
  free_memory(memory, order)
end

local function run_all(name)
  for i, kb in ipairs(sizes) do
    enable(kb)
    local order = options.free == "each" and free_orders[(i - 1) % 3 + 1] or options.free
    wait(process("storm", name == "empty" and i or 100 + i, run_storm, string.format("%s_%dkB", name, kb), kb, order))
  end
end

-- Base pages in nearly all of the machine, holes in random places, kernel memory that comes to lie in some of them.
local function fragment()
  local size = machine.memory * options.fill // 100 // machine.page * machine.page
  local memory = options.locked and map(size, "nohuge", "locked") or map(size, "nohuge")
  touch(memory)
  for offset = 0, size - 1, machine.page do
    if uniform(1, 100) <= options.holes then
      advise(memory, options.locked and "dontneed_locked" or "dontneed", { offset = offset, length = machine.page })
    end
  end
  if options.pipes > 0 then pipes(options.pipes, machine.page) end
  pause()
end

function main()
  run_all("empty")
  local fragmenter = process("fragmenter", fragment)
  sleep(20 * sec)
  sample("fragmented")
  run_all("frag")
  kill(fragmenter)
  sample("all")
end
