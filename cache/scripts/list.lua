-- Reads of tasks of a team what they are chosen by. KEYS  task:<id>, one for each
-- Returns for each what read.lua returns, without the body and without what is counted.
local t = redis.call('TIME')
local now = string.format('%.0f', tonumber(t[1]) * 1000000 + tonumber(t[2]))
local list = {}
for i, key in ipairs(KEYS) do
  local h = redis.call('HMGET', key, 'team', 'task', 'claim', 'answer', 'created')
  list[i] = {now, h[1], h[2], h[3], h[4], '', h[5], h[5], '0', '0', '0', ''}
end
return list
