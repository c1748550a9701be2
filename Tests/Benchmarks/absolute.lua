-- Requests in absolute-form with the fields that a browser sends, as a forward proxy gets them.
local target = os.getenv("BENCH_TARGET")
local fields = {
  ["Host"] = os.getenv("BENCH_HOST"),
  ["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
  ["Accept"] = "image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5",
  ["Accept-Language"] = "en-US,en;q=0.5",
  ["Accept-Encoding"] = "gzip, deflate",
  ["Referer"] = "http://www.example.test/index.html",
  ["Cookie"] = "session=0123456789abcdef0123456789abcdef; theme=light",
}

request = function()
  return wrk.format("GET", target, fields)
end
