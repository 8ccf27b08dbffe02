-- Claims a task. One that is claimed already stays as it is.
-- KEYS  1 task:<id>  2 tasks  3 due
-- ARGV  1 task  2 ms to keep the claim  3 microseconds that it is old  4 microseconds for which tasks are listed  5 ms to keep
--       the lists  6… fields and values
-- Returns 1, or 0 where the task was claimed before.
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('ZCARD', KEYS[2]) -- what is of another type is noticed before anything is written
redis.call('ZCARD', KEYS[3])
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
local created = now - tonumber(ARGV[3])
redis.call('HSET', KEYS[1], 'created', created, 'fetched', created, 'asks', 0, 'served', 0, 'sent', 0, unpack(ARGV, 6))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('(%.0f', now - tonumber(ARGV[4])))
redis.call('ZADD', KEYS[2], created, ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
redis.call('ZADD', KEYS[3], created, ARGV[1])
redis.call('PEXPIRE', KEYS[3], ARGV[5])
return 1
