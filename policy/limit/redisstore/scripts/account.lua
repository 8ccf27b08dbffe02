-- Takes from the rates of the upstream account that apply to a request, all or nothing; or corrects what was taken.
--
-- KEYS  one for each rate, all in one slot
-- ARGV  3 1 for a correction  4… each rate and its amount; for a correction the difference, which may be negative
-- Returns 1, or 0 with the index of the rate that refuses and the wait.
local now = clock(ARGV[1])
local buckets = {}
local fault, wait = -1, 0
for i, key in ipairs(KEYS) do
  local b = bucket(key, redis.call('GET', key), now, 6 * i - 2)
  b.amount = tonumber(ARGV[6 * i + 3])
  buckets[i] = b
  if ARGV[3] ~= '1' then
    local over = b.tat + span(b, b.amount) - b.full - now
    if over > wait then fault, wait = i - 1, over end
  end
end
if fault >= 0 then return {tonumber(ARGV[2]), 0, fault, wait} end
for _, b in ipairs(buckets) do
  if b.amount >= 0 then take(b, b.amount) else give(b, -b.amount) end
  store(b)
end
return {tonumber(ARGV[2]), 1, -1, 0}
