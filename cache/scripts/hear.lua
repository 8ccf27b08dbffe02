-- Keeps an answer unless a later state is known, and ends the turn to query.
-- KEYS  1 task:<id>  2 due  3 task:<id>:asking  4 claims
-- A  task  hold: of the claim that the answer is for; another's stays as it is  rank, final, answer, body: of the answer  asks: the finisher's queries since the last one for a client
--    known: for how long a task is known  served, sent: polls answered and queries sent since they were last written
-- Returns the resulting task, as read.lua does.
local was = redis.call('HMGET', KEYS[1], 'rank', 'final', 'created', 'claim')
if was[4] and not is_of(was[4], A.hold) then return {whole(now), fields(KEYS[1]), memory(KEYS[4])} end
redis.call('DEL', KEYS[3])
if was[1] then
  if tonumber(A.rank) > 0 and tonumber(A.rank) >= tonumber(was[1]) and was[2] ~= '1' then
    redis.call('HSET', KEYS[1], 'rank', A.rank, 'final', A.final, 'answer', A.answer, 'body', A.body, 'fetched', now)
    was[2] = A.final
    if A.final == '1' then -- from now on it is kept no longer than the service knows the task
      redis.call('PEXPIRE', KEYS[1], math.max(math.ceil((tonumber(was[3]) + A.known - now) / 1000), 1000))
    end
  end
  redis.call('HSET', KEYS[1], 'asks', A.asks)
  redis.call('HINCRBY', KEYS[1], 'served', A.served)
  redis.call('HINCRBY', KEYS[1], 'sent', A.sent)
  if was[2] == '1' then redis.call('ZREM', KEYS[2], A.task) end
end
return {whole(now), fields(KEYS[1]), memory(KEYS[4])}
