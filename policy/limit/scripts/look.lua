-- Tells how a team stands to all of its limits, and takes nothing. Holds whose lease has ended are charged before, by
-- holds(), as in admit.lua, and buckets are brought to the rates of the day.
--
-- KEYS  1–3 rate:requests, rate:tokens, rate:images  4 quota  5 open
-- ARGV  1 now or 0  2 a number to say again  3 the epoch known, or 0  4–18 each rate
-- Returns the number, outcome, epoch, now, open tasks, used day and month of each unit, held likewise, and for each rate
--       how long it takes to be full. Outcomes: 1 told, 2 the accounts known are gone.
local now, number = clock(ARGV[1]), tonumber(ARGV[2])
local day, month = periods(now)
local due = redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now, 'LIMIT', 0, 16)
if #due > 0 then holds(KEYS[4], KEYS[5], due) end
local fields = {'epoch', 'tasks'}
for _, what in ipairs({':used', ':held'}) do
  for _, unit in ipairs(UNITS) do
    fields[#fields + 1], fields[#fields + 2] = day .. ':' .. unit .. what, month .. ':' .. unit .. what
  end
end
local quota = redis.call('HMGET', KEYS[4], unpack(fields))
local epoch = quota[1] or '0'
if ARGV[3] ~= '0' and ARGV[3] ~= epoch then return {number, 2, tonumber(epoch), now} end
local reply = {number, 1, tonumber(epoch), now}
for i = 2, #fields do reply[i + 3] = tonumber(quota[i] or 0) end
local kept = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
for i = 1, 3 do
  local b = bucket(KEYS[i], kept[i], now, 5 * i - 1)
  if b then store(b) end
  reply[#reply + 1] = b and b.tat - now or 0
end
return reply
