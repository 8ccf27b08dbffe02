-- Returns a team's state. It takes nothing; expired holds are charged first, as in admit.lua, and buckets are brought to the current
-- rates.
--
-- epoch and seq known  terms: rates
-- Returns the team's state, and for each unit how long its rate takes to be full, 0 if there is none.
local now = clock()
local due = redis.call('ZRANGEBYSCORE', TEAM .. 'open', '-inf', now, 'LIMIT', 0, 16)
if #due > 0 then sweep(due) end
local head = redis.call('HMGET', QUOTA, 'epoch', 'seq')
local refused = refusal(head[1], head[2], nil, now)
if refused then return refused end
local reply, missing = standing(now), nothing()
for _, rate in ipairs(A.terms.rates) do
  local b = rated(rate, now)
  store(b)
  missing[rate.unit] = b.tat - now
end
for _, n in ipairs(missing) do reply[#reply + 1] = n end
return reply
