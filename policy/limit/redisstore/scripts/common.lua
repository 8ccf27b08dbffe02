-- What every script begins with. Numbers are integers below 2^53: amounts in units (spend in 10^-9 of the currency),
-- moments and spans in microseconds. Redis takes half a microsecond to write a number that it is handed, so scripts that
-- run for each request write them by string.format('%d'), which is exact, too. Lua itself would print 1e+15 for one in a
-- longer text, and -0 for less than nothing of nothing, which HINCRBY refuses.

-- SETTLED is what is left of a hold that was settled. Redis keeps a small whole number without a text for it.
local SETTLED = '1'

local UNITS = {'requests', 'tokens', 'images', 'spend'}

-- clock is Redis's own time, so that the clocks of replicas do not matter. Tests hand one in.
local function clock(given)
  given = tonumber(given)
  if given > 0 then return given end
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

-- gone reports whether the accounts are not those that a caller knows: of another epoch, or an older copy of them, whose
-- sequence number is behind. Every change of a team's accounts raises that. A caller that knows none knows epoch 0.
local function gone(epoch, seq, known, least)
  return known ~= '0' and (known ~= epoch or tonumber(seq or 0) < tonumber(least))
end

-- restoring reports whether replicas are putting the accounts back, by the field of that name.
local function restoring(ends, now) return ends and ends ~= '0' and ends + 0 > now end

-- periods returns the day as yyyymmdd and the month as yyyymm, in UTC, and how long each has still to run.
local DAY = 86400000000
local function periods(now)
  local z = math.floor(now / DAY) + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local day = doy - math.floor((153 * mp + 2) / 5) + 1
  local month = mp + 3
  if mp >= 10 then month = mp - 9 end
  local year = yoe + era * 400
  if month <= 2 then year = year + 1 end
  local length = ({31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31})[month]
  if month == 2 and year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0) then length = 29 end
  local rest = DAY - now % DAY
  return year * 10000 + month * 100 + day .. '', year * 100 + month .. '', rest, rest + (length - day) * DAY
end

-- A bucket is the moment at which it will be full, kept with the rate, " limit per burst", by which that moment was
-- reckoned. A moment behind now is a full bucket; one later than now + full is debt, of at most one more refill. full is
-- how long the bucket takes to fill.

-- moment reads that moment, never behind now, and says whether it has to be written although nothing is taken.
local function moment(key, kept, rate, full, now)
  local tat, changed = now, false
  if string.sub(kept, -#rate) == rate then
    tat = tonumber(string.sub(kept, 1, -#rate - 1))
  else -- reloaded: what is in the bucket stays, so that no reload fills it
    local t, l, p, u = string.match(kept, '^(%d+) (%d+) (%d+) (%d+)$')
    local limit, per, burst = string.match(rate, '^ (%d+) (%d+) (%d+)$')
    tat = tonumber(t)
    if tat then
      l, p, u = tonumber(l), tonumber(p), tonumber(u)
      local behind = math.min(math.max(tat - now, 0), 2 * math.ceil(u * p / l))
      local level = math.min(u - behind * l / p, tonumber(burst))
      tat = now + math.ceil((burst - level) * per / limit)
      changed = true
    end
  end
  if not tat then error({err = 'CORRUPT ' .. key}) end
  if tat > now + 2 * full then -- the clock went back: nobody waits for more than what was owed at most
    tat = now + 2 * full
    changed = true
  end
  if tat < now then tat = now end
  return tat, changed
end
