-- Claims a task. One that is claimed already stays as it is.
-- KEYS  1 task:<id>  2 tasks  3 due  4 task:<id>:asking  5 claims: what this memory of Redis is
-- A  team, task, claim, answer, body, rank, final, asks, served, sent, streamed: the fields  age, heard: how old the claim and its answer are
--    life: ms to keep it  due: how long until it is due, and may be queried; 0: it is due since its creation
--    listed: for how long tasks are listed  lists: ms to keep the lists  restored: 1 if it is restored, or others are to be
--    epoch: the memory that the caller knows, or empty
-- Returns 1, or the claim that was there before; when it was written; and the memory.
redis.call('ZCARD', KEYS[2]) -- a key of another type fails before anything is written
redis.call('ZCARD', KEYS[3])
local epoch, written = redis.call('HGET', KEYS[5], 'epoch'), whole(now)
if A.restored == '1' or not epoch and A.epoch ~= '' then redis.call('HSET', KEYS[5], 'back', written) end
if not epoch then redis.call('HSET', KEYS[5], 'epoch', written) end
local before = redis.call('HGET', KEYS[1], 'written')
if before then return {redis.call('HGET', KEYS[1], 'claim'), before, memory(KEYS[5])} end
redis.call('HINCRBY', KEYS[5], 'count', 1)
local created, wait = now - A.age, tonumber(A.due)
local hash = {'created', created, 'fetched', now - A.heard, 'written', written}
for _, name in ipairs({'team', 'task', 'claim', 'answer', 'body', 'rank', 'final', 'asks', 'served', 'sent', 'streamed'}) do
  hash[#hash + 1], hash[#hash + 2] = name, A[name]
end
redis.call('HSET', KEYS[1], unpack(hash))
redis.call('PEXPIRE', KEYS[1], A.life)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. whole(now - A.listed))
redis.call('ZADD', KEYS[2], created, A.task)
redis.call('PEXPIRE', KEYS[2], A.lists)
if A.final == '0' then
  redis.call('ZADD', KEYS[3], wait > 0 and now + wait or created, A.task)
  redis.call('PEXPIRE', KEYS[3], A.lists)
  if wait > 0 then redis.call('SET', KEYS[4], 'resting', 'PX', math.ceil(wait / 1000)) end
end
return {1, written, memory(KEYS[5])}
