-- mthp_faults: which faults of 16 kB pages are counted, for sequences of faults on one mapping each. The same script runs in the model and
-- on the kernel that runs (mthp_faults.py); memory is not short, so nothing may fall back, and what is no fault of 16 kB counts nothing.
-- The counters are of the whole system: 16 kB is for advised memory only, so that faults of others do not count.

scenario {
  summary = "counts of 16 kB faults by sequence of faults",
  options = {
    { name = "size", kind = "size", default = "2M", min = "64K", multiple = "64K", help = "of each mapping" },
    { name = "tries", kind = "int", default = 20, min = 1, max = 1000, help = "of each sequence; the least count is taken" },
  },
  machine = { memory = "1G", cpus = 2, memory_min = "256M", scale = "64M" },
  kernel  = { ["thp.enabled"] = "never", ["thp.defrag"] = "madvise", ["hugepages-16kB.enabled"] = "madvise" },
  metrics = { { name = "alloc" }, { name = "fallback" } },
}

local chunk = 16 * KiB

local function plain(m) touch(m) end
local function backwards(m)
  for offset = options.size - chunk, 0, -chunk do touch(m, { offset = offset + chunk - machine.page, length = machine.page }) end
end
local function scattered(m) touch(m, { random = true }) end
local function one_of_four(m) touch(m, { stride = chunk }) end
local function read_first(m) touch(m, { read = true }) touch(m) end
local function one_read(m) touch(m, { read = true, stride = chunk }) touch(m) end
local function given_back_whole(m) touch(m) advise(m, "dontneed") touch(m) end
local function given_back_in_part(m) touch(m) advise(m, "dontneed", { stride = chunk }) touch(m) end
local function forbidden(m) advise(m, "nohugepage") touch(m) end
local function filled_before(m)
  advise(m, "nohugepage")
  touch(m, { stride = chunk })
  advise(m, "hugepage")
  touch(m)
end

-- The least of several tries: what others fault meanwhile only adds.
local function in_process(name, body, ...)
  local words = { ... }
  wait(process(name, function()
    local least_alloc, least_fallback
    for _ = 1, options.tries do
      local m = map(options.size, "huge", table.unpack(words))
      local alloc, fallback = counter("anon_fault_alloc_16kB"), counter("anon_fault_fallback_16kB")
      body(m)
      alloc, fallback = counter("anon_fault_alloc_16kB") - alloc, counter("anon_fault_fallback_16kB") - fallback
      unmap(m)
      least_alloc = math.min(alloc, least_alloc or alloc)
      least_fallback = math.min(fallback, least_fallback or fallback)
    end
    record("alloc", name, least_alloc)
    record("fallback", name, least_fallback)
  end))
end

function main()
  in_process("plain", plain)
  in_process("backwards", backwards)
  in_process("scattered", scattered)
  in_process("one_of_four", one_of_four)
  in_process("read_first", read_first)
  in_process("one_read", one_read)
  in_process("given_back_whole", given_back_whole)
  in_process("given_back_in_part", given_back_in_part)
  in_process("forbidden", forbidden)
  in_process("filled_before", filled_before)
  in_process("unaligned", plain, "unaligned")
  sample("end")
end
