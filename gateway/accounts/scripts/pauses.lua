-- Returns the pauses that have not ended: "account model" and "wait step why" in turn, the times in ms.
-- KEYS  1 cooling: as in tell.lua
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local all, list = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #all, 2 do
  local known, rest = string.match(all[i + 1], '^(%d+)(.*)$')
  if tonumber(known) > now then
    table.insert(list, all[i])
    table.insert(list, string.format('%.0f', known - now) .. rest)
  end
end
return list
