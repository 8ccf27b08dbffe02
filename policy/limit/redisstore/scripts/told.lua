-- What is remembered once a per cent of a quota was told, for reached.lua, which has the fields of q, and restore.lua.

-- remembered is for how long, in s: 62 days as by the outbox, or of a scope inside the team, whose names clients can invent, until its day or
-- month is over.
local function remembered(q)
  if q.field then return 5356800 end
  return #q.period == 8 and 172800 or 2851200
end

-- remember notes that a per cent was told, and reports whether it was not, or with a smaller limit: else what was used has become less since.
local function remember(q, percent)
  local key, name = TEAM .. q.memory, q.name .. string.format('%d', percent)
  local known = redis.call('HGET', key, name)
  if known and tonumber(known) >= q.limit then return false end
  redis.call('HSET', key, name, string.format('%d', q.limit))
  redis.call('EXPIRE', key, remembered(q))
  return true
end
