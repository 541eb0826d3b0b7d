-- steal-census: how often does a request for non-movable memory take single pages out of movable pageblocks?
--
-- The side experiment of the patch "skip movable blocks during non-movable steals" (mobility series, patch 4): on a guest of
-- 3 GB, `ls -lR /` and a read of 2.4 GB from a block device against a fragmenter. A walk through all directories makes
-- dentries and inodes (slab, reclaimable) and directory blocks; the page cache of a block device is requested as Unmovable,
-- though its pages can be moved.
--
-- Published (a temporary counter, three boots): 2654, 5341 and 5272 such steals on the base, none with the patch by its rule;
-- allocstall_normal 32-134 on the base and 48-129 with the patch, compact_stall 288-387 and 324-415.
--
-- What the mail leaves open, and what we chose:
--   machine      swap 1 GB, 2 CPUs, and a border below 4 GB of 256 MB, as in the guest of our recordings of the same series:
--                most memory is in zone Normal, which is where the mail counts stalls.
--   fragmenter   2 GB of base pages (hog) of which it drops some at random and touches them again (churn), and beside them
--                64 MB that it maps anew each time with huge pages allowed (again): the mail counts some 300 compact_stall, so
--                somebody asks for huge pages all the while. hole_step drops one page of so many all over the hog at the start:
--                free memory is then single pages in movable pageblocks, and each costs the base a steal (131 072 holes at 4).
--                With huge = true the hog has huge pages too, and there is less to steal.
--   files        files that the walk meets: some 400 000 is a usual root file system; each costs a dentry and an ext4 inode,
--                about 1.2 KB of reclaimable slab, and on the device 40 bytes of a directory block and 256 of the inode table
--                (mkfs.ext4), which come through the page cache of the device.
--   walk         the walk and the read run at the same time (walk_first = true: one after the other).
--   device       2.4 GB, read from the start in pieces of 1 MB (block), as dd with bs=1M does.

scenario {
  summary = "non-movable steals from movable pageblocks: directory walk and device read against a fragmenter",

  options = {
    { name = "hog",        kind = "size", default = "2G", min = "2M", multiple = "2M", help = "memory of the fragmenter" },
    { name = "huge",       kind = "bool", default = false, help = "the hog may have huge pages" },
    { name = "again",      kind = "size", default = "64M", min = "0", multiple = "2M", help = "memory that it maps anew again and again" },
    { name = "hole_step",  kind = "int",  default = 0, min = 0, max = 512, help = "it drops one page of so many; 0: none" },
    { name = "churn",      kind = "int",  default = 2048, min = 0, max = 1000000, help = "pages that it drops and refaults at a time; 0: it rests" },
    { name = "files",      kind = "int",  default = 400000, min = 1, max = 100000000, help = "files that the directory walk meets" },
    { name = "directory",  kind = "int",  default = 64, min = 1, max = 1000, help = "files in a directory" },
    { name = "entry_bytes", kind = "int", default = 40, min = 0, max = 4096, help = "of a directory block, for a file" },
    { name = "inode_bytes", kind = "int", default = 256, min = 0, max = 4096, help = "of the inode table, for a file" },
    { name = "device",     kind = "size", default = "2400M", min = "1M", multiple = "1M", help = "bytes read from the block device" },
    { name = "block",      kind = "size", default = "1M", min = "4K", multiple = "4K", help = "bytes of one read" },
    { name = "walk_first", kind = "bool", default = false, help = "read the device after the walk, not beside it" },
  },

  machine = { memory = "3G", below_4g = "256M", swap = "1G", cpus = 2, memory_min = "512M" },
  kernel  = { ["thp.enabled"] = "always", ["thp.defrag"] = "always", ["khugepaged.scan_sleep_millisecs"] = "3600000" },

  metrics = {
    { name = "nonmovable_steals",    unit = "chunks",     better = "lower" },
    { name = "compact_stall",        better = "lower" },
    { name = "allocstall_normal",    better = "lower" },
    { name = "polluted_pageblocks",  unit = "pageblocks", better = "lower" },
    { name = "unmovable_pageblocks", unit = "pageblocks", better = "lower" },
    { name = "fragmenter_died",      better = "lower" },
  },

  published = {
    { metric = "nonmovable_steals", phase = "end", base = "2654, 5341, 5272", changed = "0 by its rule", change = "mobility-steal" },
    { metric = "compact_stall",     phase = "end", base = "288-387",          changed = "324-415",       change = "mobility-steal" },
    { metric = "allocstall_normal", phase = "end", base = "32-134",           changed = "48-129",        change = "mobility-steal" },
  },
}

-- Sizes are those of a machine of 3 GiB; on another one they shrink or grow in proportion.
local function part(count)
  return math.max(count // 1024 * (machine.scale // MiB) // 3072 * 1024, 1024)
end
local function part_bytes(bytes, unit)
  return math.max(part(bytes) // unit * unit, unit)
end

local fragmented, walked, finished = false, false, false

local function fragmenter()
  local bytes = part_bytes(options.hog, machine.huge)
  local memory = options.huge and map(bytes) or map(bytes, "nohuge")
  touch(memory)
  if options.hole_step > 0 then
    advise(memory, "dontneed", { stride = options.hole_step * machine.page })
  end
  local again = options.again > 0 and map(part_bytes(options.again, machine.huge)) or nil
  fragmented = true
  while not finished do
    if options.churn > 0 then refault(memory, options.churn) end
    if options.again > 0 then
      unmap(again)
      again = map(part_bytes(options.again, machine.huge))
      touch(again)
    end
    sleep(10 * ms)
  end
end

-- ls -lR: before the names of a directory can be looked up, its blocks and those of the inode table come from the device.
local function walk(sets)
  local offset = part_bytes(options.device, options.block)
  for i, set in ipairs(sets) do
    local bytes = options.directory * (options.entry_bytes + options.inode_bytes)
    bytes = (bytes + machine.page - 1) // machine.page * machine.page
    if bytes > 0 then read_device(bytes, offset) end
    offset = offset + bytes
    read_files(set)
  end
  walked = true
end

local function read_all()
  if options.walk_first then
    while not walked do sleep(10 * ms) end
  end
  for offset = 0, part_bytes(options.device, options.block) - 1, options.block do
    read_device(options.block, offset)
  end
end

function main()
  local sets = {}
  for i = 1, part(options.files) // options.directory do sets[i] = create_files(options.directory, 0, "ext4") end
  drop_caches(3) -- the files are on the disk: nothing of them is in memory
  local hog = process("fragmenter", fragmenter)
  while not fragmented and not ended(hog) do sleep(10 * ms) end
  sample("base")
  measure()
  local walker, reader = process("walk", walk, sets), process("read", read_all)
  wait(walker)
  wait(reader)
  sample("end")
  finished = true
  record("fragmenter_died", "end", wait(hog) and 1 or 0)
end
