-- Requests in absolute-form with the fields that a browser sends, for a target that ends in a number: each has the next
-- one, as the time in a cache buster.
local prefix, number = string.match(os.getenv("BENCH_TARGET"), "^(.-)(%d+)$")
local host = string.match(prefix, "//([^/]+)/")
local fields = string.gsub(os.getenv("BENCH_FIELDS"), "\n", "\r\n")
local head = "GET " .. prefix
local rest = " HTTP/1.1\r\nHost: " .. host .. "\r\n" .. fields .. "\r\n"
number = tonumber(number)

request = function()
  number = number + 1
  return head .. string.format("%.0f", number) .. rest
end
