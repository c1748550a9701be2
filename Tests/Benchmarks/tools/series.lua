-- Requests with the fields that a browser sends, each with other numbers in its target and its body: {n} is one below
-- COUNT, far from the one before; {n+100} is a hundred more; {u} is one that no other request has.
local target, body = os.getenv("BENCH_TARGET"), os.getenv("BENCH_BODY")
local count, unique = tonumber(os.getenv("BENCH_COUNT")), tonumber(os.getenv("BENCH_FIRST"))
-- Has no divisor in common with any COUNT.
local step = 611953
local number = unique * step % count
wrk.method = os.getenv("BENCH_METHOD")
wrk.headers = {}
for line in string.gmatch(os.getenv("BENCH_FIELDS"), "[^\n]+") do
  local name, value = string.match(line, "^(.-): (.*)$")
  wrk.headers[name] = value
end

request = function()
  number, unique = (number + step) % count, unique + 1
  local values = {
    n = string.format("%d", number + 1), ["n+100"] = string.format("%d", number + 101),
    u = string.format("%d", unique)
  }
  local path = string.gsub(target, "{([nu+0-9]+)}", values)
  return wrk.format(nil, path, nil, body ~= "" and (string.gsub(body, "{([nu]+)}", values)) or nil)
end
