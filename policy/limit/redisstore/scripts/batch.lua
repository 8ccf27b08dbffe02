-- Settles holds of one team and day that are as they were admitted. The caller sends what that changes, so this script reads no
-- hold's text. If one hold has changed, or the ledger is nearly full, it does nothing: settle.lua has to look at each.
--
-- epoch and seq known  terms: rates  day  keep the settled holds so many ms  ids  texts of the holds as they were admitted
-- freed, charged: amounts  taken, given: how long what is taken from the rate of each unit, and what is given back, takes to refill
-- ledger: model|endpoint, and what was used and of that estimated, in turn
-- Returns 1 if all were settled, else 0; epoch, sequence number; then for each unit, for day and month, what is held if that has
-- changed, and what is used.
local call, format, now = redis.call, string.format, clock()
local ledger, charges = TEAM .. 'use:' .. A.day, #A.ids
local fields, adds = {}, {}
for i, unit in ipairs(UNITS) do
  for _, period in ipairs({A.day, string.sub(A.day, 1, 6)}) do
    local name = period .. ':' .. unit
    if A.freed[i] ~= 0 then fields[#fields + 1], adds[#adds + 1] = name .. ':held', -A.freed[i] end
    if A.charged[i] ~= 0 then fields[#fields + 1], adds[#adds + 1] = name .. ':used', A.charged[i] end
  end
end
local head = call('HMGET', QUOTA, 'epoch', 'seq', 'restoring', unpack(fields))
local epoch, seq = tonumber(head[1] or 0), tonumber(head[2] or 0)
local refused = refusal(epoch, seq, head[3], now)
if refused then return refused end
local keys = {}
for n, id in ipairs(A.ids) do keys[n] = TEAM .. 'hold:' .. id end
local texts = call('MGET', unpack(keys))
for n = 1, charges do
  if texts[n] ~= A.texts[n] then return {NUMBER, 0, epoch, seq} end
end
call('ZCARD', TEAM .. 'open')
local size = call('HLEN', ledger)
if size + #A.ledger / 3 * 2 * #UNITS > 4000 then return {NUMBER, 0, epoch, seq} end
local buckets = {}
for _, rate in ipairs(A.terms.rates) do
  local taken, given = A.taken[rate.unit], A.given[rate.unit]
  if taken + given > 0 then
    local b = bucket(rate_key(rate), call('GET', rate_key(rate)), now, rate)
    move(b, taken, given)
    buckets[#buckets + 1] = b
  end
end
local reply, holding = {NUMBER, 1, epoch, seq + 1}, {'seq', format('%d', seq + 1)}
for i, field in ipairs(fields) do
  local n = (head[3 + i] or 0) + adds[i]
  reply[4 + i], holding[2 * i + 1], holding[2 * i + 2] = n, field, format('%d', n)
end

call('HSET', QUOTA, unpack(holding))
for n = 1, charges do call('SET', keys[n], SETTLED, 'PX', A.keep) end
call('ZREM', TEAM .. 'open', unpack(A.ids))
if size == 0 then
  call('HSET', ledger, 'day', A.day)
  call('EXPIRE', ledger, '34560000')
end
for at = 1, #A.ledger, 3 do
  for i, unit in ipairs(UNITS) do
    local field, used, doubt = A.ledger[at] .. '|' .. unit, A.ledger[at + 1][i], A.ledger[at + 2][i]
    if used ~= 0 then call('HINCRBY', ledger, field, format('%d', used)) end
    if doubt ~= 0 then call('HINCRBY', ledger, field .. '|estimated', format('%d', doubt)) end
  end
end
for _, b in ipairs(buckets) do store(b) end
return reply
