-- small: a little of everything, for the tests of the live backend.
scenario {
  summary = "a little of every verb",
  options = {
    { name = "stay", kind = "duration", default = "0", help = "sleep with everything held" },
    { name = "mark", kind = "int", default = 255, min = 0, max = 511, help = "a value that the script sets" },
    { name = "broken", kind = "bool", default = false, help = "a wrong verb at the end" },
  },
  machine = { memory = "1G" },
  kernel  = { ["vm.vfs_cache_pressure"] = "101" },
  metrics = {
    { name = "value" }, { name = "huge" }, { name = "ended" }, { name = "died" }, { name = "clock_ms" },
  },
}

local function holder()
  local memory = map(8 * MiB, "nohuge")
  touch(memory)
  mlock(memory, { length = MiB })
  map_sparse(20)
  pipes(4, 8192)
  sockets(4, 4000, 1000)
  create_files(20, 8192, "tmpfs")
  create_files(3, 16384, "ext4")
  pause()
end

local function memory_verbs()
  local memory = map(16 * MiB, "nohuge")
  record("value", "touch", touch(memory))
  record("value", "again", touch(memory, { read = true, random = true }))
  record("value", "resident", resident(memory))
  record("value", "discard", discard(memory, 100))
  record("value", "left", resident(memory))
  record("value", "refault", refault(memory, 50))
  advise(memory, "dontneed")
  record("value", "dontneed", resident(memory))
  local half = 8 * MiB
  for i = 0, 1 do
    thread(function() touch(memory, { offset = i * half, length = half }) end)
  end
  wait()
  record("value", "threads", resident(memory))
  record("value", "access", access(memory, 0, { passes = 3 }))
  record("value", "timed", access(memory, 5 * ms, { pattern = "zipf" }) > 0 and 1 or 0)
  record("value", "zipf", access(memory, 0, { passes = 2, pattern = "zipf" }))
  unmap(memory)
  local big = map(8 * MiB, "huge")
  touch(big)
  record("huge", "advised", huge_pages(big))
  record("huge", "half", huge_pages(big, { length = 4 * MiB }))
  local shared = map(MiB, "shmem")
  record("value", "shmem", touch(shared) > 0 and 1 or 0)
end

local function file_verbs()
  local files = create_files(5, 20000, "tmpfs")
  record("value", "read", read_files(files))
  record("value", "written", write_files(files, { offset = 4096, length = 4096 }))
  local mapped = map_file(files, 2)
  record("value", "mapped", resident(mapped) + (touch(mapped) > 0 and 1 or 0))
  record("value", "deleted", delete_files(files))
  local disk = create_files(2, 8192)
  record("value", "read_disk", read_files(disk))
  local set_of_pipes = pipes(6, 4096)
  record("value", "closed", close(set_of_pipes, 2, "random"))
  record("value", "closed_rest", close(set_of_pipes))
end

function main()
  local start = clock()
  local held = process("holder", holder)
  set("khugepaged.max_ptes_shared", options.mark)
  wait(process("memory", memory_verbs))
  wait(process("files", file_verbs))
  record("value", "counter", counter("pgfault") > 0 and 1 or 0)
  measure()
  compute(ms)
  yield()
  sleep(20 * ms + options.stay)
  if options.broken then touch(4711) end
  sample("end")
  record("ended", "before", ended(held) and 1 or 0)
  kill(held)
  record("died", "killed", wait(held) and 1 or 0)
  record("ended", "after", ended(held) and 1 or 0)
  record("clock_ms", "all", clock() - start, ms)
end
