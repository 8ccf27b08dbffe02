-- Every script begins with this. Numbers are integers below 2^53: amounts in units (spend in 10^-9 of the currency), times in
-- microseconds. A list of amounts has one for each unit, in the order of UNITS, and that of an allowance one more, of open tasks.
--
-- KEYS  1 the team's quota, from which the other keys follow: all are in its slot
-- ARGV  1 the time, or 0 for Redis's own  2 a random number, with which every reply begins  3 the script's arguments, named, as A has
--       them (named.lua); those that run for each request, admit.lua and batch.lua, take one argument for each value instead
--
-- A team's script receives the epoch and the sequence number of the accounts that its caller knows, 0 for none. If it has changed nothing
-- it returns {number, outcome, epoch, now}: 2 the accounts known are lost, 3 the call arrived too late, 4 the team is restoring.
--
-- Replies are numbers, because Redis's JSON writes them with 14 digits. Scripts that run for each request write numbers for Redis by
-- string.format('%d'), which is faster than its own conversion, and exact. Lua would write 1e+15 within a longer text, and -0 for the
-- negative of 0, which HINCRBY refuses.
local NUMBER = tonumber(ARGV[2])
local QUOTA, TEAM = KEYS[1], string.sub(KEYS[1], 1, -6) -- "quota" has five letters

-- SETTLED is the text of a settled hold that has a key of its own. Redis stores a small whole number without extra memory.
local SETTLED = '1'

-- noted returns the key and the note by which batch.lua remembers a hold that it settled, instead of the hold's own key. One text has the
-- notes of about a minute: of the ids whose time, in milliseconds, begins with the same 32 bits. A note has 48 of an id's 74 random bits.
local function noted(id) return TEAM .. 'settled:' .. string.sub(id, 1, 8), ' ' .. string.sub(id, #id < 36 and 1 or 25) .. ' ' end

-- reached is the function of reached.lua, which only scripts that announce thresholds have.
local reached

-- clock is Redis's own time, so that the clocks of replicas do not matter. Tests give another. clock_read is what it returned.
local clock_read
local function clock()
  clock_read = tonumber(ARGV[1])
  if clock_read <= 0 then
    local t = redis.call('TIME')
    clock_read = tonumber(t[1]) * 1000000 + tonumber(t[2])
  end
  return clock_read
end

-- accounts_lost reports whether the accounts are not those that the caller knows: they have another epoch, or are an older copy with a
-- smaller sequence number, which every change of a team's accounts raises. A caller that knows none has epoch 0.
local function accounts_lost(epoch, seq, known, least)
  return known ~= '0' and (known ~= epoch or tonumber(seq or 0) < tonumber(least))
end

-- restoring reports whether replicas are restoring the accounts, by the field restoring.
local function restoring(ends, now) return ends and ends ~= '0' and ends + 0 > now end

-- periods returns the day as yyyymmdd and the month as yyyymm, in UTC, and the time until each ends.
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

-- A bucket is the moment at which it will be full, and the rate, " limit per burst", by which that was computed. A moment before now
-- is a full bucket; one later than now + full is debt, of one more refill at most. full is how long an empty bucket takes to fill.

-- moment reads that moment, at least now, and whether it must be written although nothing is taken.
local function moment(key, kept, rate, full, now)
  local tat, changed = now, false
  if string.sub(kept, -#rate) == rate then
    tat = tonumber(string.sub(kept, 1, -#rate - 1))
  else -- the rate has changed: what is in the bucket stays
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
  if tat > now + 2 * full then -- the clock went back: no wait is longer than the debt there can be
    tat = now + 2 * full
    changed = true
  end
  if tat < now then tat = now end
  return tat, changed
end
