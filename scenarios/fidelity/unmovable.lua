-- unmovable: memory of the kernel that cannot move, by page tables, pipes and files, and what it takes from movable pageblocks.

scenario {
  summary = "fidelity: unmovable demand by page tables, pipes and files",
  options = {
    { name = "tables", kind = "int", default = 20000, min = 1, max = 1000000, help = "page tables" },
    { name = "pipes",  kind = "int", default = 600, min = 1, max = 100000, help = "pipes with 16 pages of data" },
    { name = "files",  kind = "int", default = 40000, min = 1, max = 1000000, help = "empty files in tmpfs" },
  },
  machine = { memory = "4G", cpus = 2, scale = "1G" },
  kernel  = { ["thp.enabled"] = "madvise" },
  metrics = {
    { name = "unmovable_pageblocks", unit = "pageblocks", better = "lower" },
    { name = "unmovable_pages",      unit = "pages" },
  },
}

function main()
  measure()
  sample("start")
  local tables = process("tables", function() map_sparse(options.tables) pause() end)
  sleep(2 * sec)
  sample("tables")
  local channels = process("pipes", function() pipes(options.pipes, 16 * machine.page) pause() end)
  sleep(2 * sec)
  sample("pipes")
  local maker = process("files", function() create_files(options.files, 0, "tmpfs") pause() end)
  sleep(4 * sec)
  sample("files")
  kill(tables)
  wait(tables)
  kill(channels)
  wait(channels)
  sample("end")
  kill(maker)
  wait(maker)
end
