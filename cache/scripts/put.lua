-- Claims a task. One that is claimed already stays as it is.
-- KEYS  1 task:<id>  2 tasks  3 due  4 task:<id>:asking  5 claims: what this memory of Redis is
-- ARGV  1 task  2 ms to keep the claim  3 age of the claim and  4 of its answer in microseconds  5 microseconds until it is due,
--       and may be queried; 0: it is due since its creation  6 microseconds for which tasks are listed  7 ms to keep the lists
--       8 1 if it has ended  9 1 if it is restored, or others are to be  10 the memory that the caller knows, or empty
--       11… fields and values
-- Returns 1, or 0 if the task was claimed before; when the claim was written; and as read.lua does when the memory began, how
-- many claims were written to it, and how long ago one was restored.
redis.call('ZCARD', KEYS[2]) -- a key of another type fails before anything is written
redis.call('ZCARD', KEYS[3])
local memory = redis.call('HMGET', KEYS[5], 'epoch', 'count', 'back')
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
local written = string.format('%.0f', now)
if ARGV[9] == '1' or not memory[1] and ARGV[10] ~= '' then
  redis.call('HSET', KEYS[5], 'back', written)
  memory[3] = written
end
if not memory[1] then
  redis.call('HSET', KEYS[5], 'epoch', written)
  memory[1] = written
end
local ago = memory[3] and string.format('%.0f', now - memory[3])
local before = redis.call('HGET', KEYS[1], 'written')
if before then return {0, before, memory[1], memory[2], ago} end
local count = string.format('%.0f', redis.call('HINCRBY', KEYS[5], 'count', 1))
local created = now - tonumber(ARGV[3])
redis.call('HSET', KEYS[1], 'created', created, 'fetched', now - tonumber(ARGV[4]), 'written', written, unpack(ARGV, 11))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('(%.0f', now - tonumber(ARGV[6])))
redis.call('ZADD', KEYS[2], created, ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[7])
if ARGV[8] == '0' then
  local wait = tonumber(ARGV[5])
  redis.call('ZADD', KEYS[3], wait > 0 and now + wait or created, ARGV[1])
  redis.call('PEXPIRE', KEYS[3], ARGV[7])
  if wait > 0 then redis.call('SET', KEYS[4], 'resting', 'PX', math.ceil(wait / 1000)) end
end
return {1, written, memory[1], count, ago}
