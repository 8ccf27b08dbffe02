-- What every script begins with. Numbers are integers below 2^53: amounts in units (spend in 10^-9 of the currency),
-- moments and spans in microseconds. Redis writes a number it is handed exactly; Lua itself would print 1e+15 for one in
-- a longer text, where string.format('%.0f') does it, and -0 for less than nothing of nothing, which HINCRBY refuses.

local UNITS = {'requests', 'tokens', 'images', 'spend'}

-- clock is Redis's own time, so that the clocks of replicas do not matter. Tests hand one in.
local function clock(given)
  given = tonumber(given)
  if given > 0 then return given end
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

-- amounts reads four amounts, one for each unit, which the caller has checked.
local function amounts(from)
  return {tonumber(ARGV[from]), tonumber(ARGV[from + 1]), tonumber(ARGV[from + 2]), tonumber(ARGV[from + 3])}
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
  return year * 10000 + month * 100 + day .. '', year * 100 + month .. '', rest, rest + (length - day) * DAY
end

-- A bucket is the moment at which it will be full, kept with the rate by which that moment was reckoned. A moment
-- behind now is a full bucket; one later than now + full is debt, of at most one more refill.
local function bucket(key, kept, now, from)
  local limit = tonumber(ARGV[from])
  if limit == 0 then return nil end
  local per, burst = tonumber(ARGV[from + 1]), tonumber(ARGV[from + 2])
  local tat, full, changed = now, math.floor(burst * per / limit), false
  if kept then
    local t, l, p, u = string.match(kept, '^(%d+) (%d+) (%d+) (%d+)$')
    if not t then error({err = 'CORRUPT ' .. key}) end
    tat = tonumber(t)
    if l ~= ARGV[from] or p ~= ARGV[from + 1] or u ~= ARGV[from + 2] then -- reloaded: what is in the bucket stays, so that no reload fills it
      l, p, u = tonumber(l), tonumber(p), tonumber(u)
      local behind = math.min(math.max(tat - now, 0), 2 * math.floor(u * p / l))
      local level = math.min(u - behind * l / p, burst)
      tat = now + math.ceil((burst - level) * per / limit)
      changed = true
    end
    if tat > now + 2 * full then -- the clock went back: nobody waits for more than what was owed at most
      tat = now + 2 * full
      changed = true
    end
    if tat < now then tat = now end
  end
  return {key = key, now = now, limit = limit, per = per, burst = burst, from = from, full = full, tat = tat, kept = kept, changed = changed}
end

-- span is how long so many units take to refill, rounded up once per request, so that no rate is passed however small a
-- unit's share of a microsecond is. More than three buckets are more than all the debt there can be.
local function span(b, n) return math.ceil(math.min(n, 3 * b.burst) * b.per / b.limit) end

local function take(b, n)
  b.tat = math.min(b.tat + span(b, n), b.now + 2 * b.full)
  b.changed = true
end

local function give(b, n)
  if not b.kept then return end -- nothing was ever taken: it is full
  b.tat = math.max(b.tat - math.floor(math.min(n, 3 * b.burst) * b.per / b.limit), b.now)
  b.changed = true
end

local function store(b)
  if not b.changed then return end
  local value = string.format('%.0f %s %s %s', b.tat, ARGV[b.from], ARGV[b.from + 1], ARGV[b.from + 2])
  redis.call('SET', b.key, value, 'PX', math.ceil((b.tat - b.now) / 1000) + 60000)
end

-- What a script changes in the counts of a team is added up and written at its end: several holds often change the same
-- fields.
local counts, ledgers = {}, {}
local function count(field, n) counts[field] = (counts[field] or 0) + n end

-- entry is the name that a day's ledger has a model and endpoint under: names a client makes up do not grow it for ever.
local function entry(key, what)
  local ledger = ledgers[key]
  if not ledger then
    ledger = {size = redis.call('HLEN', key), names = {}, counts = {}}
    ledgers[key] = ledger
  end
  local name = ledger.names[what]
  if not name then
    name = what
    if ledger.size > 4000 and redis.call('HEXISTS', key, what .. '|requests') == 0 then name = string.gsub(what, '^.*|', 'other|') end
    ledger.names[what] = name
  end
  return ledger, name
end

-- post adds amounts to what a day and a month used and to the ledger of the day; estimated is the part of them that
-- nobody knows for certain. Either may be negative: a correction.
local function post(use, hold, amount, estimated)
  local ledger, name = entry(use .. hold.day, hold.what)
  for i = 1, 4 do
    local n, e = amount[i], estimated[i]
    if n ~= 0 then
      count(hold.day .. ':' .. UNITS[i] .. ':used', n)
      count(hold.month .. ':' .. UNITS[i] .. ':used', n)
      local field = name .. '|' .. UNITS[i]
      ledger.counts[field] = (ledger.counts[field] or 0) + n
    end
    if e ~= 0 then
      local field = name .. '|' .. UNITS[i] .. '|estimated'
      ledger.counts[field] = (ledger.counts[field] or 0) + e
    end
  end
end

-- flush writes what was added up.
local function flush(quota)
  for field, n in pairs(counts) do
    redis.call('HINCRBY', quota, field, n)
  end
  for key, ledger in pairs(ledgers) do
    if ledger.size == 0 then
      redis.call('HSET', key, 'day', string.sub(key, -8))
      redis.call('EXPIRE', key, 34560000)
    end
    for field, n in pairs(ledger.counts) do
      redis.call('HINCRBY', key, field, n)
    end
  end
  counts, ledgers = {}, {}
end

-- A hold is one text: its state, 1 where the charge is estimated, for a task, and where it was taken from the rates, its
-- day and month, what it holds and what it was charged of each unit, its id, team and model|endpoint. It knows its own
-- periods, because it may end in others.
local HOLD = '^(%a+) (%d) (%d) (%d) (%d+) (%d+) (%d+ %d+ %d+ %d+) (%d+ %d+ %d+ %d+) (%S+) (%S+) (.*)$'

local function write(key, hold, ...)
  redis.call('SET', key, table.concat({hold.state, hold.estimated, hold.task, hold.rates, hold.day, hold.month, hold.held, hold.charged,
    hold.id, hold.team, hold.what}, ' '), ...)
end

local function four(text)
  local a, b, c, d = string.match(text, '^(%d+) (%d+) (%d+) (%d+)$')
  return {tonumber(a), tonumber(b), tonumber(c), tonumber(d)}
end

-- read returns a hold, or nil where there is none, or none that can be read.
local function read(key)
  local text = redis.call('GET', key)
  if not text then return nil end
  local state, estimated, task, rates, day, month, held, charged, id, team, what = string.match(text, HOLD)
  if not state then return nil end
  return {state = state, estimated = estimated, task = task, rates = rates, day = day, month = month, held = held, charged = charged,
    id = id, team = team, what = what}
end

-- free takes a hold's amounts out of what its day and month hold.
local function free(open, hold, amount)
  for i = 1, 4 do
    if amount[i] ~= 0 then
      count(hold.day .. ':' .. UNITS[i] .. ':held', -amount[i])
      count(hold.month .. ':' .. UNITS[i] .. ':held', -amount[i])
    end
  end
  if hold.task == '1' then count('tasks', -1) end
  redis.call('ZREM', open, hold.id)
end

-- sweep charges holds whose lease has ended as they were estimated. The truth may still come and corrects that.
local function sweep(quota, open, prefix, use, now, most)
  local due = redis.call('ZRANGEBYSCORE', open, '-inf', now, 'LIMIT', 0, most)
  for _, id in ipairs(due) do
    local key = prefix .. id
    local hold = read(key)
    if hold and hold.state == 'held' then
      local amount = four(hold.held)
      free(open, hold, amount)
      post(use, hold, amount, amount)
      hold.state, hold.estimated, hold.charged = 'expired', '1', hold.held
      write(key, hold, 'KEEPTTL')
    else
      redis.call('ZREM', open, id)
    end
  end
  if #due > 0 then flush(quota) end
  return #due
end
