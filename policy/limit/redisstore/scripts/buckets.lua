-- Buckets, for scripts that change several.

-- A rate is its text, " limit per burst", which is kept after a bucket's moment; limit; per; burst; and for how many milliseconds the
-- bucket is kept.
local function bucket(key, kept, now, rate, limit, per, burst, ttl)
  local full = math.ceil(burst * per / limit) -- rounded as in span: a whole bucket fits
  local tat, changed = now, false
  if kept then tat, changed = moment(key, kept, rate, full, now) end
  return {key = key, now = now, rate = rate, ttl = ttl, limit = limit, per = per, burst = burst, full = full, tat = tat,
    kept = kept, changed = changed}
end

-- span is how long n units take to refill, rounded up once per request, so that rates of many units a microsecond hold, too.
-- The debt never reaches three buckets.
local function span(b, n) return math.ceil(math.min(n, 3 * b.burst) * b.per / b.limit) end

-- move takes what refills in a time, and gives back what refills in another; both in microseconds.
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

local function take(b, n) move(b, span(b, n), 0) end

local function give(b, n) move(b, 0, math.floor(math.min(n, 3 * b.burst) * b.per / b.limit)) end

local function store(b)
  if not b.changed then return end
  redis.call('SET', b.key, string.format('%d', b.tat) .. b.rate, 'PX', b.ttl)
end
