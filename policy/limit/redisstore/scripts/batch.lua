-- Settles holds of one team and day that are as they were admitted. The caller sends what that changes, so this script reads no
-- hold's text. If one hold has changed, or the ledger is nearly full, it does nothing: settle.lua has to look at each.
--
-- KEYS  1 quota  2 open  3 the day's ledger  then rate:<unit> for each rate that changes, then hold:<id> for each charge, none twice
-- ARGV  3 the day  4 ms to remember the holds  5 number of counts of quota  6 and 7 the epoch and sequence number known  8 number of rates
--       9 number of rows of the ledger that have kinds
--       then each rate, and how long what is taken from it, and what is given back, takes to refill
--       then the id of each charge, then the text of each hold as it was admitted
--       then the fields of quota's counts, their amounts, of each row of the ledger that has kinds its name and what is added to them
--       (kinds.lua), and of each count of the ledger its field and amount
-- Returns 1 if all were settled, else 0; epoch, sequence number, and the new counts of quota.
local call, now = redis.call, clock()
local rates, counts = tonumber(ARGV[8]), tonumber(ARGV[5])
local charges, ids = #KEYS - 3 - rates, 10 + 7 * rates
local first = ids + 2 * charges
local kinds = first + 2 * counts
local rest = kinds + 2 * ARGV[9]
local head = call('HMGET', KEYS[1], 'epoch', 'seq', 'restoring', unpack(ARGV, first, first + counts - 1))
local epoch, seq = head[1] or '0', tonumber(head[2] or 0)
if accounts_lost(epoch, seq, ARGV[6], ARGV[7]) then return {NUMBER, 2, tonumber(epoch), seq} end
if restoring(head[3], now) then return {NUMBER, 4, tonumber(epoch), seq} end
local texts = call('MGET', unpack(KEYS, 4 + rates))
for n = 1, charges do
  if texts[n] ~= ARGV[ids + charges + n - 1] then return {NUMBER, 0, tonumber(epoch), seq} end
end
call('ZCARD', KEYS[2])
local size = call('HLEN', KEYS[3])
if size + (#ARGV - kinds + 1) / 2 > 4000 then return {NUMBER, 0, tonumber(epoch), seq} end
local buckets = {}
for i = 1, rates do
  local at, key = 3 + 7 * i, KEYS[3 + i]
  local b = bucket(key, call('GET', key), now, ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), ARGV[at + 4])
  move(b, tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6]))
  buckets[i] = b
end
local reply, holding = {NUMBER, 1, tonumber(epoch), seq + 1}, {'seq', string.format('%d', seq + 1)}
for i = 1, counts do
  local n = (head[3 + i] or 0) + ARGV[first + counts + i - 1]
  reply[4 + i], holding[2 * i + 1], holding[2 * i + 2] = n, ARGV[first + i - 1], string.format('%d', n)
end

call('HSET', KEYS[1], unpack(holding))
for n = 1, charges do call('SET', KEYS[3 + rates + n], SETTLED, 'PX', ARGV[4]) end
call('ZREM', KEYS[2], unpack(ARGV, ids, ids + charges - 1))
if size == 0 then
  call('HSET', KEYS[3], 'day', ARGV[3])
  call('EXPIRE', KEYS[3], '34560000')
end
for at = kinds, rest - 1, 2 do add_kinds(KEYS[3], ARGV[at], {ARGV[at + 1]}) end
for at = rest, #ARGV, 2 do call('HINCRBY', KEYS[3], ARGV[at], ARGV[at + 1]) end
for _, b in ipairs(buckets) do store(b) end
return reply
