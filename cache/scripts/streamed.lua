-- Keeps what the stream of a task's creation counted, for the end that a query shows. It is no answer: it changes no state, and ends no turn.
-- KEYS  1 task:<id>  2 claims   A  hold: of the claim that it is for  streamed: the count
-- Returns the resulting task, as read.lua does.
local was = redis.call('HMGET', KEYS[1], 'claim', 'final')
if was[1] and was[2] ~= '1' and is_of(was[1], A.hold) then redis.call('HSET', KEYS[1], 'streamed', A.streamed) end
return {whole(now), fields(KEYS[1]), memory(KEYS[2])}
