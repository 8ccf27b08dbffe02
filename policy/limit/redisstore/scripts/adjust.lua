-- Posts a correction to a team's current day and month and to its ledger, once, with who ordered it and why. The use of a month
-- never falls below 0. Nor does that of the day, which may be younger than what is corrected.
--
-- team  id  unit, from 1  delta, may be below 0  why  keep the record so many seconds
-- Returns 1, or 0 if the month would fall below 0, and the use of day and month before and after.
local now, unit, delta, record = clock(), A.unit, A.delta, TEAM .. 'hold:' .. A.id
local day, month = periods(now)
local dayField, monthField = day .. ':' .. UNITS[unit] .. ':used', month .. ':' .. UNITS[unit] .. ':used'
local d = tonumber(redis.call('HGET', QUOTA, dayField) or 0)
local m = tonumber(redis.call('HGET', QUOTA, monthField) or 0)
if redis.call('EXISTS', record) == 1 then return {NUMBER, 1, d, d, m, m} end
if m + delta < 0 then return {NUMBER, 0, d, d, m, m} end
local change = nothing()
change[unit] = delta
post({day = day, month = month, what = 'adjustment|other'}, change, nothing())
flush()
if d + delta < 0 then redis.call('HSET', QUOTA, dayField, '0') end
redis.call('HSET', record, 'team', A.team, 'id', A.id, 'day', day, 'month', month,
  'what', 'adjustment|other', 'unit', UNITS[unit], 'delta', string.format('%d', delta), 'why', A.why, 'at', string.format('%d', now))
redis.call('EXPIRE', record, A.keep)
return {NUMBER, 1, d, math.max(d + delta, 0), m, m + delta}
