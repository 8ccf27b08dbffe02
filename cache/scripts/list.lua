-- Reads what a list's filter needs of a team's tasks. KEYS  task:<id>, one for each
-- Returns for each the first values of read.lua, without the body and the counts.
local t = redis.call('TIME')
local now = string.format('%.0f', tonumber(t[1]) * 1000000 + tonumber(t[2]))
local list = {}
for i, key in ipairs(KEYS) do
  local h = redis.call('HMGET', key, 'team', 'task', 'claim', 'answer', 'created')
  list[i] = {now, h[1], h[2], h[3], h[4], '', h[5], h[5], '0', '0', '0', ''}
end
return list
