-- collapse: khugepaged over ranges that have lost half of their pages, and over whole ones. Its budget is large, since it looks at
-- other processes of a host too.

scenario {
  summary = "fidelity: khugepaged over fragmented ranges",
  options = {
    { name = "size", kind = "size", default = "64M", min = "4M", multiple = "2M", help = "memory of each of the two tasks" },
    { name = "time", kind = "duration", default = "8s", help = "how long khugepaged has" },
  },
  machine = { memory = "4G", cpus = 2, scale = "1G" },
  kernel  = { ["thp.enabled"] = "madvise", ["thp.defrag"] = "madvise",
              ["khugepaged.scan_sleep_millisecs"] = 100, ["khugepaged.alloc_sleep_millisecs"] = 100,
              ["khugepaged.pages_to_scan"] = 65536 },
  metrics = {
    { name = "huge_pct", unit = "%", better = "higher" },
  },
}

local function task(name, holes)
  local memory = map(options.size, "nohuge")
  touch(memory)
  if holes then discard(memory, options.size // machine.page // 2) end
  advise(memory, "hugepage")
  sleep(options.time)
  record("huge_pct", name, 100 * huge_pages(memory), options.size // machine.huge)
end

function main()
  measure()
  sample("start")
  wait(process("whole", task, "whole", false))
  sample("whole")
  wait(process("holes", task, "holes", true))
  sample("holes")
end
