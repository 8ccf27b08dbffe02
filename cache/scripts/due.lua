-- Hands out tasks that are due, each to one caller for a while.
-- KEYS  1 due   ARGV  1 how many at most  2 microseconds until each is due again, if no answer is heard
-- Returns their ids.
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
local list = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
for _, id in ipairs(list) do redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), id) end
return list
