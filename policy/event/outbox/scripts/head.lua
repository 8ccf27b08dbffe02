-- KEYS  1 an owner's events, from which its other keys follow: all are in its slot
-- ARGV  1 the time in µs, or 0 for Redis's own: tests give another
local TEAM = string.sub(KEYS[1], 1, -7) -- "events" has six letters

local function clock()
  local now = tonumber(ARGV[1])
  if now > 0 then return now end
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end
