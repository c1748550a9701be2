-- Requests in absolute-form for many URLs, each with a Cookie and a Referer of its own, and a query where QUERY is set.
-- They are made before the load begins, and sent one behind the other: WALK asks for each URL in order, from that number
-- on, else they are chosen at random, all alike or (ZIPF) the one at rank k as often as 1/k. Every run chooses the same.
-- Their lengths differ: LuaJIT looks at four places of a string to tell it from others of its length, and would take half
-- a minute for so many that are alike there.
local count = tonumber(os.getenv("BENCH_COUNT"))
local target = os.getenv("BENCH_TARGET")
local prefix, suffix = string.match(target, "^(.-)%d+(%.%w+)$")
local host = string.match(target, "//([^/]+)/")
local zipf, walk, query = os.getenv("BENCH_ZIPF"), tonumber(os.getenv("BENCH_WALK")), os.getenv("BENCH_QUERY")
local fields = string.gsub(os.getenv("BENCH_FIELDS"), "\n", "\r\n")

local function at_random()
  if not zipf then
    return function() return math.random(0, count - 1) end
  end
  local sums, sum = {}, 0
  for rank = 1, count do
    sum = sum + 1 / rank
    sums[rank] = sum
  end
  return function()
    local wanted, low, high = math.random() * sum, 1, count
    while low < high do
      local middle = math.floor((low + high) / 2)
      if sums[middle] < wanted then low = middle + 1 else high = middle end
    end
    -- Neighbours in rank are not neighbours in the folder.
    return (low * 7919) % count
  end
end

local requests, length, position = {}, 0, 0

init = function()
  math.randomseed(7)
  local choose = at_random()
  length = walk and count or 60000
  for i = 1, length do
    local number = walk and (walk + i - 1) % count or choose()
    requests[i] = string.format(
      "GET %s%06d%s%s HTTP/1.1\r\nHost: %s\r\n%sReferer: http://www.example.test/page-%06d.html\r\n" ..
      "Cookie: session=%08x%08x%08x%08x; theme=light%s\r\n\r\n",
      prefix, number, suffix, query and string.format("?v=%d", math.random(0, 999999)) or "", host, fields,
      math.random(0, 999999), math.random(0, 0x7fffffff), math.random(0, 0x7fffffff), math.random(0, 0x7fffffff),
      math.random(0, 0x7fffffff), string.rep("t", i % 97))
  end
end

request = function()
  position = position % length + 1
  return requests[position]
end
