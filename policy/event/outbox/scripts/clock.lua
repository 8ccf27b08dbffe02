-- ARGV  1 the time in µs, or 0 for Redis's own: tests give another
local function clock()
  local now = tonumber(ARGV[1])
  if now > 0 then return now end
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end
