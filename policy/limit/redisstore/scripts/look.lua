-- Tells a team's state. It takes nothing; expired holds are charged first, as in admit.lua, and buckets are brought to the current
-- rates.
--
-- KEYS  1–3 rates  4 quota  5 open
-- ARGV  3 the epoch known, or 0  4–18 each rate  19 the sequence number known
-- Returns the team's state, and for each rate how long it takes to be full.
local now, number = clock(ARGV[1]), tonumber(ARGV[2])
local due = redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now, 'LIMIT', 0, 16)
if #due > 0 then holds(KEYS[4], KEYS[5], due) end
local head = redis.call('HMGET', KEYS[4], 'epoch', 'seq')
local epoch = head[1] or '0'
if accounts_lost(epoch, head[2], ARGV[3], ARGV[19]) then return {number, 2, tonumber(epoch), now} end
local reply = standing(number, KEYS[4], now)
local kept = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
for i = 1, 3 do
  local b = bucket(KEYS[i], kept[i], now, 5 * i - 1)
  if b then store(b) end
  reply[#reply + 1] = b and b.tat - now or 0
end
return reply
