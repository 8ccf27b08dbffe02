-- Reads a task. KEYS  1 task:<id>  2 claims
-- Returns now, and team, task, claim, answer, body, created, fetched, asks, served, sent, written of the task, nil if there is
-- none. Behind them the memory: when it began, how many claims were written to it, and how many microseconds ago one was
-- restored, nil if none was.
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
local h = redis.call('HMGET', KEYS[1], 'team', 'task', 'claim', 'answer', 'body', 'created', 'fetched', 'asks', 'served', 'sent', 'written')
local m = redis.call('HMGET', KEYS[2], 'epoch', 'count', 'back')
return {string.format('%.0f', now), h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[8], h[9], h[10], h[11], m[1], m[2],
  m[3] and string.format('%.0f', now - m[3])}
