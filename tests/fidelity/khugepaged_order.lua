-- khugepaged_order: in which wake-up of khugepaged each range becomes huge; the model's half of khugepaged_order.py.

scenario {
  summary = "in which order the ranges of three tasks become huge",

  options = {
    { name = "size", kind = "size", default = "32M", min = "2M", multiple = "2M", help = "memory of each task" },
    { name = "cold", kind = "choice", default = "freed", choices = { "freed", "read" }, help = "the cold task after MADV_FREE" },
    { name = "sleep_ms", kind = "int", default = 1000, min = 100, max = 100000, help = "scan_sleep" },
  },

  machine = { memory = "1G", cpus = 2 },
  kernel  = { ["thp.enabled"] = "madvise" },
  metrics = { { name = "huge_at_ms", unit = "ms" } },
}

local ranges = options.size // machine.huge

-- The time at which each range was first seen huge.
local function watch(memory, name, start, read)
  local seen, huge = {}, 0
  while huge < ranges and clock() < start + 40 * options.sleep_ms * ms do
    for i = 1, ranges do
      local part = { offset = (i - 1) * machine.huge, length = machine.huge }
      if not read then touch(memory, part) end
      if not seen[i] and huge_pages(memory, part) == 1 then
        seen[i], huge = true, huge + 1
        record("huge_at_ms", string.format("%s_%02d", name, i), clock(), ms)
      end
    end
    sleep(20 * ms)
  end
end

local function hot(name, start)
  local memory = map(options.size)
  touch(memory)
  advise(memory, "hugepage")
  watch(memory, name, start)
end

local function cold(start)
  local memory = map(options.size)
  touch(memory)
  advise(memory, "hugepage")
  advise(memory, "free")
  if options.cold == "read" then touch(memory, { read = true, stride = machine.huge }) end
  watch(memory, "cold", start, true)
end

-- Whoever registers first is scanned at once; then khugepaged sleeps until the sleep is written, and begins with hot1.
local function first()
  local memory = map(machine.huge, "huge")
  touch(memory)
  sleep(400 * ms)
end

function main()
  set("khugepaged.scan_sleep_millisecs", "3600000")
  process("first", first)
  sleep(300 * ms)
  process("hot1", hot, "hot1", clock())
  sleep(100 * ms)
  process("cold", cold, clock())
  sleep(100 * ms)
  local last = process("hot2", hot, "hot2", clock())
  sleep(100 * ms)
  set("khugepaged.scan_sleep_millisecs", string.format("%d", options.sleep_ms))
  wait(last)
end
