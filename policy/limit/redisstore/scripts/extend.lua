-- Gives an open hold a new lease if that ends later: extensions may overtake each other. From now on it is charged on the account that its
-- replica names, and holds no more than its replica says: the rest is given back, once, to the rates, too.
-- epoch and seq known  id  lease  text of the hold as its replica knows it  rates of its team and of the scopes inside it
-- Returns 1 if the hold is open, 0 if it has ended, -1 if nothing is known of it; and when its lease ends.
-- While a team is restoring nothing is extended, because the hold's replica may not have restored it.
local now, key = clock(), TEAM .. 'hold:' .. A.id
local head = redis.call('HMGET', QUOTA, 'epoch', 'seq', 'restoring')
local refused = refusal(head[1], head[2], head[3], now)
if refused then return refused end
local hold = read(key)
if not hold or hold.state ~= 'held' then return {NUMBER, hold and 0 or -1, 0} end
local held, buckets = amounts_of(hold.held), {}
local due = renew(key, hold, parse(A.text), now + A.lease)
local holds = amounts_of(hold.held)
for _, rate in ipairs(A.rates or {}) do
  local less = held[rate.unit] - holds[rate.unit]
  if less > 0 and taken(hold, rate.bit) then
    local b = rated(rate, now)
    give(b, less)
    buckets[#buckets + 1] = b
  end
end
flush()
for _, b in ipairs(buckets) do store(b) end
return {NUMBER, 1, due}
