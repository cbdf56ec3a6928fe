-- Requests for wrk: bodies of a file in turn, of which a share are written as new documents and removed again.
-- wrk -s serve_load.lua URL -- BODIES WRITES    BODIES: a line {"text": …} each; WRITES: share of requests, 0 to 1

local threads = 0

function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(args)
  bodies = {}
  for line in io.lines(args[1]) do bodies[#bodies + 1] = line end
  writes = tonumber(args[2])
  math.randomseed(number + 1)
  at = math.random(#bodies)
  added, removed = 0, 0
  json = { ["Content-Type"] = "application/json" }
  run = os.time() .. "-" .. number .. "-"
end

function request()
  at = at % #bodies + 1
  if math.random() >= writes then return wrk.format("POST", "/query", json, bodies[at]) end
  -- Behind by some hundreds, so that what is removed has been added whatever connection it went through.
  if added - removed > 500 and math.random() < 0.5 then
    removed = removed + 1
    return wrk.format("DELETE", "/documents/" .. run .. removed, nil, nil)
  end
  added = added + 1
  return wrk.format("POST", "/documents", json, '{"id": "' .. run .. added .. '", ' .. bodies[at]:sub(2))
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    "RESULT %d %d %.3f %.3f %.3f %.3f %d %d\n", summary.requests, summary.duration, latency:percentile(50) / 1000,
    latency:percentile(99) / 1000, latency:percentile(99.9) / 1000, latency.max / 1000, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
