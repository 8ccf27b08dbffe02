-- What every script begins with. Numbers are integers below 2^53: amounts in units (spend in 10^-9 of the currency),
-- moments and spans in microseconds. They are written by int(): Lua prints 1e+14 and -0 by itself, which HINCRBY
-- refuses.

local UNITS = {'requests', 'tokens', 'images', 'spend'}

local function int(x)
  if x == 0 then return '0' end
  return string.format('%.0f', x)
end

-- clock is Redis's own time, so that the clocks of replicas do not matter. Tests hand one in.
local function clock(given)
  given = tonumber(given)
  if given > 0 then return given end
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

-- amounts reads four amounts, one for each unit. Nothing negative enters the accounts.
local function amounts(from)
  local list = {}
  for i = 1, 4 do
    local n = tonumber(ARGV[from + i - 1])
    if not n or n < 0 or n ~= math.floor(n) or n > 9007199254740991 then
      error({err = 'BADARG amount ' .. i})
    end
    list[i] = n
  end
  return list
end

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
  return int(year * 10000 + month * 100 + day), int(year * 100 + month), rest, rest + (length - day) * DAY
end

-- A bucket is the moment at which it will be full, kept with the rate by which that moment was reckoned. A moment
-- behind now is a full bucket; one later than now + full is debt, of at most one more refill.
local function bucket(key, now, from)
  local limit, per, burst = tonumber(ARGV[from]), tonumber(ARGV[from + 1]), tonumber(ARGV[from + 2])
  if limit == 0 then return nil end
  local b = {key = key, now = now, limit = limit, per = per, burst = burst, tat = now}
  b.full = math.floor(burst * per / limit)
  -- how long so many units take to refill, rounded up once per request, so that no rate is passed however small a
  -- unit's share of a microsecond is; more than three buckets are more than all the debt there can be
  b.span = function(n) return math.ceil(math.min(n, 3 * burst) * per / limit) end
  local kept = redis.call('GET', key)
  b.kept = kept
  if kept then
    local t, l, p, u = string.match(kept, '^(%d+) (%d+) (%d+) (%d+)$')
    if not t then error({err = 'CORRUPT ' .. key}) end
    b.tat, l, p, u = tonumber(t), tonumber(l), tonumber(p), tonumber(u)
    if l ~= limit or p ~= per or u ~= burst then -- reloaded: what is in the bucket stays, so that no reload fills it
      local behind = math.min(math.max(b.tat - now, 0), 2 * math.floor(u * p / l))
      local level = math.min(u - behind * l / p, burst)
      b.tat = now + math.ceil((burst - level) * per / limit)
      b.changed = true
    end
    if b.tat > now + 2 * b.full then -- the clock went back: nobody waits for more than what was owed at most
      b.tat = now + 2 * b.full
      b.changed = true
    end
  end
  if b.tat < now then b.tat = now end
  return b
end

local function take(b, n)
  b.tat = math.min(b.tat + b.span(n), b.now + 2 * b.full)
  b.changed = true
end

local function give(b, n)
  if not b.kept then return end -- nothing was ever taken: it is full
  b.tat = math.max(b.tat - math.floor(math.min(n, 3 * b.burst) * b.per / b.limit), b.now)
  b.changed = true
end

local function store(b)
  if not b.changed then return end
  local value = int(b.tat) .. ' ' .. int(b.limit) .. ' ' .. int(b.per) .. ' ' .. int(b.burst)
  redis.call('SET', b.key, value, 'PX', int(math.ceil((b.tat - b.now) / 1000) + 60000))
end

-- post adds amounts to what a day and a month used and to the ledger of the day; estimated is the part of them that
-- nobody knows for certain. Either may be negative: a correction.
local function post(quota, use, day, month, what, amount, estimated)
  local ledger = use .. day
  local full = redis.call('HLEN', ledger)
  if full == 0 then
    redis.call('HSET', ledger, 'day', day)
    redis.call('EXPIRE', ledger, 34560000)
  elseif full > 4000 and redis.call('HEXISTS', ledger, what .. '|requests') == 0 then
    what = string.gsub(what, '^.*|', 'other|') -- names a client makes up do not grow the ledger
  end
  for i = 1, 4 do
    if amount[i] ~= 0 then
      local n = int(amount[i])
      redis.call('HINCRBY', quota, day .. ':' .. UNITS[i] .. ':used', n)
      redis.call('HINCRBY', quota, month .. ':' .. UNITS[i] .. ':used', n)
      redis.call('HINCRBY', ledger, what .. '|' .. UNITS[i], n)
    end
    if estimated[i] ~= 0 then
      redis.call('HINCRBY', ledger, what .. '|' .. UNITS[i] .. '|estimated', int(estimated[i]))
    end
  end
end

-- free takes a hold's amounts out of what its day and month hold.
local function free(quota, id, open, hold)
  for i = 1, 4 do
    if hold.amount[i] ~= 0 then
      local n = int(-hold.amount[i])
      redis.call('HINCRBY', quota, hold.day .. ':' .. UNITS[i] .. ':held', n)
      redis.call('HINCRBY', quota, hold.month .. ':' .. UNITS[i] .. ':held', n)
    end
  end
  if hold.task then redis.call('HINCRBY', quota, 'tasks', -1) end
  redis.call('ZREM', open, id)
end

-- read returns a hold, or nil. It knows its own periods: it may end in others.
local function read(key)
  local h = redis.call('HMGET', key, 'state', 'day', 'month', 'what', 'task', 'rates', 'h1', 'h2', 'h3', 'h4', 'c1', 'c2', 'c3', 'c4', 'estimated')
  if not h[1] then return nil end
  local hold = {state = h[1], day = h[2], month = h[3], what = h[4], task = h[5] == '1', rates = h[6] == '1', amount = {}, charged = {}, estimated = h[15] == '1'}
  for i = 1, 4 do
    hold.amount[i] = tonumber(h[6 + i])
    hold.charged[i] = tonumber(h[10 + i] or 0)
  end
  return hold
end

-- sweep charges holds whose lease has ended as they were estimated. The truth may still come and corrects that.
local function sweep(quota, open, prefix, use, now, most)
  local due = redis.call('ZRANGEBYSCORE', open, '-inf', int(now), 'LIMIT', 0, most)
  for _, id in ipairs(due) do
    local key = prefix .. id
    local hold = read(key)
    if hold and hold.state == 'held' then
      free(quota, id, open, hold)
      post(quota, use, hold.day, hold.month, hold.what, hold.amount, hold.amount)
      redis.call('HSET', key, 'state', 'expired', 'estimated', '1',
        'c1', int(hold.amount[1]), 'c2', int(hold.amount[2]), 'c3', int(hold.amount[3]), 'c4', int(hold.amount[4]))
    else
      redis.call('ZREM', open, id)
    end
  end
  return #due
end
