-- Arguments by name. They are JSON, because the Redis of the tests has no cmsgpack. In the scripts that run for each request, JSON cost a
-- fifth more of Redis's time.
local A = cjson.decode(ARGV[3])

-- text is a number as Redis keeps it.
local function text(n) return string.format('%d', n) end

-- refusal returns the reply of a call that must change nothing; nil: it may change the accounts. ends is the field restoring if a restore
-- stops the call, else nil.
local function refusal(epoch, seq, ends, now)
  epoch = epoch or '0'
  if accounts_lost(epoch, seq, text(A.epoch), A.seq) then return {NUMBER, 2, tonumber(epoch), now} end
  if restoring(ends, now) then return {NUMBER, 4, tonumber(epoch), now} end
end

-- rated is the bucket of a rate by name, of a team or a scope inside it unless it has a key.
local function rated(rate, now, key)
  key = key or TEAM .. 'rate:' .. UNITS[rate.unit] .. (rate.of or '')
  return bucket(key, redis.call('GET', key), now, rate.text, rate.limit, rate.per, rate.burst, rate.keep)
end
