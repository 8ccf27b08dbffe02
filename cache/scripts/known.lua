-- Lists a team's tasks that the service still knows, oldest first.
-- KEYS  1 tasks   ARGV  1 microseconds that a task is known
-- Returns their ids.
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
return redis.call('ZRANGEBYSCORE', KEYS[1], string.format('%.0f', now - tonumber(ARGV[1])), '+inf')
