-- probe: can huge pages be had after manual, and after proactive compaction? Between them memory is fragmented anew.

scenario {
  summary = "fidelity: huge pages after manual and after proactive compaction",
  options = {
    { name = "fill",  kind = "size", default = "512M", min = "8M", multiple = "2M", help = "memory that is fragmented" },
    { name = "probe", kind = "size", default = "128M", min = "4M", multiple = "2M", help = "memory of a probe" },
  },
  machine = { memory = "4G", cpus = 2, scale = "1G" },
  kernel  = { ["thp.enabled"] = "madvise", ["thp.defrag"] = "madvise" },
  metrics = {
    { name = "thp_success_pct", unit = "%", better = "higher" },
    { name = "own_faults" },
  },
}

local function fragment()
  local memory = map(options.fill, "nohuge")
  touch(memory)
  discard(memory, options.fill // machine.page // 2)
  sample("fragmented")
  pause()
end

local function probe(phase)
  local memory = map(options.probe, "huge")
  record("own_faults", phase, touch(memory))
  record("thp_success_pct", phase, 100 * huge_pages(memory), options.probe // machine.huge)
  sample(phase)
end

function main()
  measure()
  sample("start")
  local first = process("fragmenter", 1, fragment)
  sleep(3 * sec)
  compact()
  sample("manual")
  wait(process("probe", 1, probe, "after_manual"))
  kill(first)
  wait(first)
  sample("between")
  local second = process("fragmenter", 2, function()
    local memory = map(options.fill, "nohuge")
    touch(memory)
    discard(memory, options.fill // machine.page // 2)
    pause()
  end)
  sleep(3 * sec)
  sample("again")
  set("vm.compaction_proactiveness", 100)
  sleep(6 * sec)
  set("vm.compaction_proactiveness", 20)
  sample("proactive")
  wait(process("probe", 2, probe, "after_proactive"))
  kill(second)
  wait(second)
end
