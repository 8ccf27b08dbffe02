-- Settles a hold with what the request used, once. A hold whose lease has ended was charged as estimated: the truth
-- corrects that. Where the hold is unknown because the state lost it, the charge is posted on its own, also once.
--
-- KEYS  1–3 rates  4 quota  5 open  6 hold:<id>
-- ARGV  1 now or 0  2 team  3 id  4 1 if estimated  5 ms to remember it  6 prefix of ledger keys  7 day, empty: an
--       unknown hold is left alone  8 month  9 model|endpoint  10–13 amounts  14–22 limit, per, burst of each rate
-- Returns the id, and 1 if this settled it, 0 if it was settled before, -1 if nothing is known of it.
local now = clock(ARGV[1])
local id = ARGV[3]
local actual = amounts(10)
local hold = read(KEYS[6])
local fresh = not hold

if fresh then
  if ARGV[7] == '' then return {id, -1} end
  hold = {state = 'none', estimated = '0', task = '0', rates = '1', day = ARGV[7], month = ARGV[8], held = '0 0 0 0', charged = '0 0 0 0',
    id = id, team = ARGV[2], what = ARGV[9]}
elseif hold.state == 'settled' then
  return {id, 0}
elseif hold.state == 'held' then
  free(KEYS[4], KEYS[5], hold)
end

local held, charged = four(hold.held), four(hold.charged)
local change, doubt = {}, {}
for i = 1, 4 do
  change[i] = actual[i] - charged[i]
  doubt[i] = (ARGV[4] == '1' and actual[i] or 0) - (hold.estimated == '1' and charged[i] or 0)
end
post(KEYS[4], ARGV[6], hold.day, hold.month, hold.what, change, doubt)
for i = 1, 3 do
  local b = hold.rates == '1' and actual[i] ~= held[i] and bucket(KEYS[i], redis.call('GET', KEYS[i]), now, 11 + 3 * i)
  if b then
    if actual[i] > held[i] then take(b, actual[i] - held[i]) else give(b, held[i] - actual[i]) end
    store(b)
  end
end
hold.state, hold.estimated = 'settled', ARGV[4]
hold.charged = ARGV[10] .. ' ' .. ARGV[11] .. ' ' .. ARGV[12] .. ' ' .. ARGV[13]
if hold.task == '1' and not fresh then
  write(KEYS[6], hold, 'KEEPTTL') -- a task's hold stays as long as the task may be asked for
else
  write(KEYS[6], hold, 'PX', ARGV[5])
end
return {id, 1}
