-- Which per cents of quotas were announced, for reached.lua, which describes the fields of q, and restore.lua.

-- remembered is for how many seconds an announcement is remembered: 62 days as by the outbox; that of a scope inside the team, whose names
-- clients can invent, until its day or month is over.
local function remembered(q)
  if q.field then return 5356800 end
  return #q.period == 8 and 172800 or 2851200
end

-- remember notes that a per cent was announced, and reports whether that is new, or was noted with a smaller limit. A repetition with the
-- same limit means that the use had fallen in between.
local function remember(q, percent)
  local key, name = TEAM .. q.memory, q.name .. string.format('%d', percent)
  local known = redis.call('HGET', key, name)
  if known and tonumber(known) >= q.limit then return false end
  redis.call('HSET', key, name, string.format('%d', q.limit))
  redis.call('EXPIRE', key, remembered(q))
  return true
end
