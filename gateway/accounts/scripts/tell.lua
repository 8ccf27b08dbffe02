-- Keeps the pause of an account for a model, unless a longer one is known, and forgets those that have ended.
-- KEYS  1 cooling: a hash of "until step why", until by Redis's clock, both in ms, by "account model"
-- ARGV  1 account and model  2 how long in ms  3 the last step in ms  4 why
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local untilTime, step, last = now + ARGV[2], ARGV[3], 0
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local known = tonumber(string.match(all[i + 1], '^%d+'))
  if known <= now then
    redis.call('HDEL', KEYS[1], all[i])
  else
    last = math.max(last, known)
    if all[i] == ARGV[1] and known >= untilTime then untilTime = 0 end
  end
end
if untilTime > now then
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f %s %s', untilTime, step, ARGV[4]))
  redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', math.max(untilTime, last)))
end
return 1
