-- Takes from the rates outside of the teams that apply to a request, and gives back to those of the account that it leaves, all or nothing;
-- or corrects what was taken; or only checks whether they would refuse.
--
-- KEYS  one for each rate, all in one slot
-- force for a correction  look to take nothing  rates  amounts of each rate, negative for what is given back; for a correction the difference
-- Returns 1, or 0 with the index of the rate that refuses, -1 if a look found none, and the wait.
local now = clock()
local buckets = {}
local fault, wait = -1, 0
for i, key in ipairs(KEYS) do
  local b = rated(A.rates[i], now, key)
  buckets[i] = b
  if not A.force and A.amounts[i] > 0 then
    local over = b.tat + span(b, A.amounts[i]) - b.full - now
    if over > wait then fault, wait = i - 1, over end
  end
end
if fault >= 0 or A.look then return {NUMBER, 0, fault, wait} end
for i, b in ipairs(buckets) do
  if A.amounts[i] >= 0 then take(b, A.amounts[i]) else give(b, -A.amounts[i]) end
  store(b)
end
return {NUMBER, 1, -1, 0}
