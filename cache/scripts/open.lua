-- Lists a team's tasks that have not ended and that the service still knows.
-- KEYS  1 tasks  2 due   ARGV  1 microseconds that a task is known
-- Returns the id of each and when it was made, in turn.
local t = redis.call('TIME')
local first = tonumber(t[1]) * 1000000 + tonumber(t[2]) - tonumber(ARGV[1])
local list = {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  local created = redis.call('ZSCORE', KEYS[1], id)
  if created and tonumber(created) >= first then
    list[#list + 1], list[#list + 2] = id, string.format('%.0f', tonumber(created))
  end
end
return list
