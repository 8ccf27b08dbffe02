-- Returns a team's state. It takes nothing; expired holds are charged first, as in admit.lua, and buckets are brought to the current
-- rates.
--
-- epoch and seq known  rates
-- Returns the team's state, and for each rate how long it takes to be full.
local now = clock()
local head = redis.call('HMGET', QUOTA, 'epoch', 'seq', 'restoring')
local refused = refusal(head[1], head[2], nil, now)
if refused then return refused end
if not restoring(head[3], now) then
  local due = redis.call('ZRANGEBYSCORE', TEAM .. 'open', '-inf', now, 'LIMIT', 0, 16)
  if #due > 0 then sweep(due) end
end
local reply = standing(now)
for _, rate in ipairs(A.rates) do
  local b = rated(rate, now)
  store(b)
  reply[#reply + 1] = b.tat - now
end
return reply
