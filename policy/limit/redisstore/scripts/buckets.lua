-- Buckets. A bucket is the moment at which it will be full, and behind it the text of the rate by which that was computed,
-- " limit per burst". A moment before now is a full bucket; one later than now + full is debt, of one more refill at most. full is how
-- long an empty bucket takes to fill. A rate is its unit's number, its text, limit, per, burst, and how many ms its bucket is kept.

-- moment reads that moment, at least now, and whether it has to be written although nothing is taken.
local function moment(key, kept, rate, full, now)
  local tat, changed = now, false
  if string.sub(kept, -#rate.text) == rate.text then
    tat = tonumber(string.sub(kept, 1, -#rate.text - 1))
  else -- the rate has changed: what is in the bucket stays
    local t, l, p, u = string.match(kept, '^(%d+) (%d+) (%d+) (%d+)$')
    tat = tonumber(t)
    if tat then
      l, p, u = tonumber(l), tonumber(p), tonumber(u)
      local behind = math.min(math.max(tat - now, 0), 2 * math.ceil(u * p / l))
      local level = math.min(u - behind * l / p, rate.burst)
      tat = now + math.ceil((rate.burst - level) * rate.per / rate.limit)
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

local function bucket(key, kept, now, rate)
  local full = math.ceil(rate.burst * rate.per / rate.limit) -- rounded as in span: so much at once fits
  local tat, changed = now, false
  if kept then tat, changed = moment(key, kept, rate, full, now) end
  return {key = key, now = now, rate = rate, full = full, tat = tat, kept = kept, changed = changed}
end

local function rate_key(rate) return TEAM .. 'rate:' .. UNITS[rate.unit] end

-- span is how long so many units take to refill, rounded up once per request, so that rates of many units a microsecond hold, too.
-- The debt never reaches three buckets.
local function span(rate, n) return math.ceil(math.min(n, 3 * rate.burst) * rate.per / rate.limit) end

-- move takes what refills in one time, and gives back what refills in another.
local function move(b, taken, given)
  if taken > 0 then
    b.tat = math.min(b.tat + taken, b.now + 2 * b.full)
    b.kept, b.changed = true, true
  end
  if given > 0 and b.kept then -- else the bucket is full
    b.tat = math.max(b.tat - given, b.now)
    b.changed = true
  end
end

local function take(b, n) move(b, span(b.rate, n), 0) end

local function give(b, n) move(b, 0, math.floor(math.min(n, 3 * b.rate.burst) * b.rate.per / b.rate.limit)) end

local function store(b)
  if not b.changed then return end
  redis.call('SET', b.key, string.format('%d', b.tat) .. b.rate.text, 'PX', b.rate.keep)
end
