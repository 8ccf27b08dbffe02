-- Keeps an answer unless a later state is known, and ends the turn to query.
-- KEYS  1 task:<id>  2 due  3 task:<id>:asking  4 claims
-- ARGV  1 task  2 rank of the state  3 1 if it is final  4 answer  5 body  6 the finisher's queries since the last one for a client
--       7 microseconds that a task is known  8 polls answered  9 queries sent, both since they were last written
-- Returns the task as it stands then, as read.lua does.
local was = redis.call('HMGET', KEYS[1], 'rank', 'final', 'created')
redis.call('DEL', KEYS[3])
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
if was[1] then
  if tonumber(ARGV[2]) > 0 and tonumber(ARGV[2]) >= tonumber(was[1]) and was[2] ~= '1' then
    redis.call('HSET', KEYS[1], 'rank', ARGV[2], 'final', ARGV[3], 'answer', ARGV[4], 'body', ARGV[5], 'fetched', now)
    was[2] = ARGV[3]
    if ARGV[3] == '1' then -- from now on it is kept no longer than the service knows the task
      redis.call('PEXPIRE', KEYS[1], math.max(math.ceil((tonumber(was[3]) + tonumber(ARGV[7]) - now) / 1000), 1000))
    end
  end
  redis.call('HSET', KEYS[1], 'asks', ARGV[6])
  redis.call('HINCRBY', KEYS[1], 'served', ARGV[8])
  redis.call('HINCRBY', KEYS[1], 'sent', ARGV[9])
  if was[2] == '1' then redis.call('ZREM', KEYS[2], ARGV[1]) end
end
local h = redis.call('HMGET', KEYS[1], 'team', 'task', 'claim', 'answer', 'body', 'created', 'fetched', 'asks', 'served', 'sent', 'written')
local m = redis.call('HMGET', KEYS[4], 'epoch', 'count', 'back')
return {string.format('%.0f', now), h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[8], h[9], h[10], h[11], m[1], m[2],
  m[3] and string.format('%.0f', now - m[3])}
