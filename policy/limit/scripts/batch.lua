-- Settles holds of one team and day that are as they were admitted. What that changes is reckoned by the caller, so that
-- nothing is taken apart here. Where one hold is not as it was, or the ledger is nearly full, nothing is done: settle.lua
-- has to look at each.
--
-- KEYS  1–3 rates  4 quota  5 open  6 the day's ledger  7… hold:<id>, one for each charge, none twice
-- ARGV  1 now or 0  2 a number to say again  3–17 each rate  18–23 for each rate how long what is taken more takes to refill,
--       and what is given back  24 the day  25 ms to remember the holds  26 number of counts of quota
--       then of each charge the id, of each the hold's text as it was admitted
--       then the counts, those of quota first: field, amount
-- Returns the number, and 1 if this settled them all, or 0.
local call, now = redis.call, clock(ARGV[1])
local charges, number = #KEYS - 6, tonumber(ARGV[2])
local texts = call('MGET', unpack(KEYS, 7))
for n = 1, charges do
  if texts[n] ~= ARGV[26 + charges + n] then return {number, 0} end
end
call('HLEN', KEYS[4])
call('ZCARD', KEYS[5])
local size = call('HLEN', KEYS[6])
local first = 27 + 2 * charges
if size + (#ARGV - first + 1) / 2 - ARGV[26] > 4000 then return {number, 0} end
local buckets = {}
for i = 1, 3 do
  local taken, given = tonumber(ARGV[16 + 2 * i]), tonumber(ARGV[17 + 2 * i])
  if taken + given > 0 and ARGV[5 * i - 2] ~= '' then
    local b = bucket(KEYS[i], call('GET', KEYS[i]), now, 5 * i - 2)
    move(b, taken, given)
    buckets[#buckets + 1] = b
  end
end

for n = 1, charges do call('SET', KEYS[6 + n], SETTLED, 'PX', ARGV[25]) end
call('ZREM', KEYS[5], unpack(ARGV, 27, 26 + charges))
if size == 0 then
  call('HSET', KEYS[6], 'day', ARGV[24])
  call('EXPIRE', KEYS[6], '34560000')
end
for at = first, #ARGV, 2 do
  call('HINCRBY', at < first + 2 * ARGV[26] and KEYS[4] or KEYS[6], ARGV[at], ARGV[at + 1])
end
for _, b in ipairs(buckets) do store(b) end
return {number, 1}
