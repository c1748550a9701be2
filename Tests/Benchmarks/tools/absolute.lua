-- Requests in absolute-form with the fields that a browser sends, as a forward proxy gets them. The request is the same
-- bytes each time, so that wrk does no more than write them; PIPELINE of them are written at once.
wrk.path = os.getenv("BENCH_TARGET")
wrk.headers = {}
for line in string.gmatch(os.getenv("BENCH_FIELDS"), "[^\n]+") do
  local name, value = string.match(line, "^(.-): (.*)$")
  wrk.headers[name] = value
end

local depth = tonumber(os.getenv("BENCH_PIPELINE"))
if depth > 1 then
  local batch
  init = function()
    batch = string.rep(wrk.format(), depth)
  end
  request = function()
    return batch
  end
end
