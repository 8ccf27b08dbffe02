-- Settles holds of one team and day that are as they were admitted. The caller sends what that changes, so this script reads no
-- hold's text. If one hold has changed, or the ledger is nearly full, it does nothing: settle.lua has to look at each.
--
-- KEYS  1–3 rates  4 quota  5 open  6 the day's ledger  7… hold:<id>, one for each charge, none twice
-- ARGV  3–17 each rate  18–23 for each rate how long what is taken, and what is given back, takes to refill  24 the day  25 ms to
--       remember the holds  26 number of counts of quota  27 and 28 the epoch and sequence number known
--       then the id of each charge, then the text of each hold as it was admitted
--       then the fields of quota's counts, their amounts, and of each count of the ledger its field and amount
-- Returns 1 if all were settled, else 0; epoch, sequence number, and the new counts of quota.
local call, now = redis.call, clock(ARGV[1])
local charges, number, counts = #KEYS - 6, tonumber(ARGV[2]), tonumber(ARGV[26])
local first = 29 + 2 * charges
local rest = first + 2 * counts
local head = call('HMGET', KEYS[4], 'epoch', 'seq', 'restoring', unpack(ARGV, first, first + counts - 1))
local epoch, seq = head[1] or '0', tonumber(head[2] or 0)
if accounts_lost(epoch, seq, ARGV[27], ARGV[28]) then return {number, 2, tonumber(epoch), seq} end
if restoring(head[3], now) then return {number, 4, tonumber(epoch), seq} end
local texts = call('MGET', unpack(KEYS, 7))
for n = 1, charges do
  if texts[n] ~= ARGV[28 + charges + n] then return {number, 0, tonumber(epoch), seq} end
end
call('ZCARD', KEYS[5])
local size = call('HLEN', KEYS[6])
if size + (#ARGV - rest + 1) / 2 > 4000 then return {number, 0, tonumber(epoch), seq} end
local buckets = {}
for i = 1, 3 do
  local taken, given = tonumber(ARGV[16 + 2 * i]), tonumber(ARGV[17 + 2 * i])
  if taken + given > 0 and ARGV[5 * i - 2] ~= '' then
    local b = bucket(KEYS[i], call('GET', KEYS[i]), now, 5 * i - 2)
    move(b, taken, given)
    buckets[#buckets + 1] = b
  end
end
local reply, holding = {number, 1, tonumber(epoch), seq + 1}, {'seq', string.format('%d', seq + 1)}
for i = 1, counts do
  local n = (head[3 + i] or 0) + ARGV[first + counts + i - 1]
  reply[4 + i], holding[2 * i + 1], holding[2 * i + 2] = n, ARGV[first + i - 1], string.format('%d', n)
end

call('HSET', KEYS[4], unpack(holding))
for n = 1, charges do call('SET', KEYS[6 + n], SETTLED, 'PX', ARGV[25]) end
call('ZREM', KEYS[5], unpack(ARGV, 29, 28 + charges))
if size == 0 then
  call('HSET', KEYS[6], 'day', ARGV[24])
  call('EXPIRE', KEYS[6], '34560000')
end
for at = rest, #ARGV, 2 do call('HINCRBY', KEYS[6], ARGV[at], ARGV[at + 1]) end
for _, b in ipairs(buckets) do store(b) end
return reply
