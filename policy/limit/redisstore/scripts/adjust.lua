-- Posts a correction to a team's day and month and to its ledger, once, with who ordered it and why. The use of a day or month never falls
-- below 0: the running day may be younger than the use that is corrected, and a count of a past day may be gone.
--
-- team  id  unit, from 1  delta, may be below 0  day, or empty: the running one  account is @ and its id, or empty: main  why
-- keep the record so many seconds  change, only of an account outside of the teams: by how much the team's day changed, because the rest of
-- today's use is other teams'; such an account is corrected whatever its own use is
-- Returns 1, or 0 if the month, or the ledger of the named day and account, would fall below 0; then the use of the day and of the month,
-- each before and after; then by how much the day changed when the correction was made. If a day, or an account other than main, is named, the
-- use of the day is that of both in the ledger. The use of a month that is over is 0.
local now, unit, delta, record = clock(), A.unit, A.delta, TEAM .. 'hold:' .. A.id
local today, running = periods(now)
local day, named = A.day == '' and today or A.day, A.day ~= '' or A.account ~= ''
local month = string.sub(day, 1, 6)
local dayField, monthField = day .. ':' .. UNITS[unit] .. ':used', month .. ':' .. UNITS[unit] .. ':used'

-- ledger_used is what the ledger has of a day and account.
local function ledger_used()
  local sum, fields = 0, redis.call('HGETALL', USE .. day)
  for i = 1, #fields, 2 do
    local endpoint, of = string.match(fields[i], '^.*|([^|]*)|(%a+)$')
    if of == UNITS[unit] and string.match(endpoint, '^[^@]*(.*)$') == A.account then sum = sum + fields[i + 1] end
  end
  return sum
end

local d = named and ledger_used() or tonumber(redis.call('HGET', QUOTA, dayField) or 0)
local m = month == running and tonumber(redis.call('HGET', QUOTA, monthField) or 0) or 0
if redis.call('EXISTS', record) == 1 then return {NUMBER, 1, d, d, m, m, tonumber(redis.call('HGET', record, 'change') or delta)} end
if not A.change and (named and d or m) + delta < 0 then return {NUMBER, 0, d, d, m, m, 0} end
local of_day = A.change or math.max(d + delta, 0) - d
local change = nothing()
change[unit] = delta
post({day = day, month = month, team = A.team .. A.account, what = 'adjustment|other'}, change, nothing())
flush()
if A.change then count(QUOTA, dayField, A.change - delta) end
for _, field in ipairs({dayField, monthField}) do
  if tonumber(redis.call('HGET', QUOTA, field) or 0) < 0 then redis.call('HSET', QUOTA, field, '0') end
end
redis.call('HSET', record, 'team', A.team, 'id', A.id, 'day', day, 'month', month,
  'what', 'adjustment|other' .. A.account, 'unit', UNITS[unit], 'delta', text(delta), 'change', text(of_day), 'why', A.why, 'at', text(now))
redis.call('EXPIRE', record, A.keep)
return {NUMBER, 1, d, math.max(d + delta, 0), m, month == running and math.max(m + delta, 0) or 0, of_day}
