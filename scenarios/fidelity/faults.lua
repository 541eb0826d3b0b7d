-- faults: a storm of first touches at each size of page, on memory as it is and beside memory that was fragmented on purpose.
--
-- One process, one thread, address order: what is asked for is the same to the page on every kernel, so the statistics by size
-- can be compared exactly. Sizes are on "madvise", so that other processes of the host do not use them.

scenario {
  summary = "fidelity: first touches at each page size, before and after fragmenting",
  options = {
    { name = "storm", kind = "size", default = "64M", min = "4M", multiple = "2M", help = "memory that one storm touches" },
    { name = "fill",  kind = "size", default = "256M", min = "4M", multiple = "2M", help = "memory of the fragmenter" },
  },
  machine = { memory = "4G", cpus = 2, scale = "1G" },
  kernel  = { ["thp.enabled"] = "madvise", ["thp.defrag"] = "madvise" },
  metrics = {
    { name = "success_pct", unit = "%", better = "higher" },
    { name = "own_faults" },
    { name = "pgfault", headline = false },
  },
}

local sizes = {}
for kb = 8, machine.huge // KiB do
  local n = machine.page // KiB
  while n < kb do n = n * 2 end
  if n == kb and kb * KiB > machine.page * 2 then table.insert(sizes, kb) end
end

local function enable(kb)
  for i, other in ipairs(sizes) do
    set(string.format("hugepages-%dkB.enabled", other), other == kb and "madvise" or "never")
  end
end

local function storm(phase, kb)
  local alloc, fallback = string.format("anon_fault_alloc_%dkB", kb), string.format("anon_fault_fallback_%dkB", kb)
  local before = kb * KiB == machine.page and { 0, 0 } or { counter(alloc), counter(fallback) }
  record("own_faults", phase, touch(map(options.storm, "huge")))
  if kb * KiB ~= machine.page then
    local made, failed = counter(alloc) - before[1], counter(fallback) - before[2]
    record("success_pct", phase, 100 * made, made + failed)
  end
  sample(phase)
end

local function storms(name, first)
  enable(0)
  wait(process("storm", first, storm, string.format("%s_%dkB", name, machine.page // KiB), machine.page // KiB))
  for i, kb in ipairs(sizes) do
    enable(kb)
    wait(process("storm", first + i, storm, string.format("%s_%dkB", name, kb), kb))
  end
end

function main()
  measure()
  sample("start")
  storms("clean", 1)
  local fragmenter = process("fragmenter", function()
    local memory = map(options.fill, "nohuge")
    touch(memory)
    discard(memory, options.fill // machine.page // 2)
    pause()
  end)
  sleep(2 * sec)
  sample("fragmented")
  storms("frag", 101)
  kill(fragmenter)
  wait(fragmenter)
  sample("end")
end
