-- Reads a task. KEYS  1 task:<id>
-- Returns the moment, and team, task, claim, answer, body, created, fetched, asks, served, sent, written; they are absent where the task is.
local t = redis.call('TIME')
local h = redis.call('HMGET', KEYS[1], 'team', 'task', 'claim', 'answer', 'body', 'created', 'fetched', 'asks', 'served', 'sent', 'written')
return {string.format('%.0f', tonumber(t[1]) * 1000000 + tonumber(t[2])), h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[8], h[9], h[10], h[11]}
