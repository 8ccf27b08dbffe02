-- Posts a correction to a team's current day and month and to its ledger, once, with who ordered it and why. The use of a month
-- never falls below 0. Nor does that of the day, which may be younger than what is corrected.
--
-- KEYS  1 quota  2 hold:<id>
-- ARGV  3 team  4 id  5 unit, 1 to 4  6 the correction, may be below 0  7 prefix of ledger keys  8 why  9 seconds to keep the record
-- Returns 1, or 0 if the month would fall below 0, and the use of day and month before and after.
local now, id, unit, delta = clock(ARGV[1]), ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local day, month = periods(now)
local dayField, monthField = day .. ':' .. UNITS[unit] .. ':used', month .. ':' .. UNITS[unit] .. ':used'
local d = tonumber(redis.call('HGET', KEYS[1], dayField) or 0)
local m = tonumber(redis.call('HGET', KEYS[1], monthField) or 0)
if redis.call('EXISTS', KEYS[2]) == 1 then return {tonumber(ARGV[2]), 1, d, d, m, m} end
if m + delta < 0 then return {tonumber(ARGV[2]), 0, d, d, m, m} end
local none, change = {0, 0, 0, 0}, {0, 0, 0, 0}
change[unit] = delta
post({day = day, month = month, what = 'adjustment|other'}, change, none)
flush(KEYS[1], nil, ARGV[7])
if d + delta < 0 then redis.call('HSET', KEYS[1], dayField, '0') end
redis.call('HSET', KEYS[2], 'team', ARGV[3], 'id', id, 'day', day, 'month', month,
  'what', 'adjustment|other', 'unit', UNITS[unit], 'delta', delta, 'why', ARGV[8], 'at', now)
redis.call('EXPIRE', KEYS[2], ARGV[9])
return {tonumber(ARGV[2]), 1, d, math.max(d + delta, 0), m, m + delta}
