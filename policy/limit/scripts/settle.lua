-- Settles a hold with what the request used, once. A hold whose lease has ended was charged as estimated: the truth
-- corrects that. Where the hold is unknown because the state lost it, the charge is posted on its own, also once.
--
-- KEYS  1–3 rates  4 quota  5 open  6 hold:<id>
-- ARGV  1 now or 0  2 team  3 id  4 1 if estimated  5 ms to remember it  6 prefix of ledger keys  7 day, empty: an
--       unknown hold is left alone  8 month  9 model|endpoint  10–13 amounts  14–22 limit, per, burst of each rate
-- Returns the id, and 1 if this settled it, 0 if it was settled before, -1 if nothing is known of it.
local now = clock(ARGV[1])
local id, estimated = ARGV[3], ARGV[4] == '1'
local actual = amounts(10)
local hold = read(KEYS[6])
local none = {0, 0, 0, 0}

if not hold then
  if ARGV[7] == '' then return {id, -1} end
  hold = {state = 'none', day = ARGV[7], month = ARGV[8], what = ARGV[9], rates = true, amount = none, charged = none}
  redis.call('HSET', KEYS[6], 'team', ARGV[2], 'id', id, 'day', hold.day, 'month', hold.month, 'what', hold.what)
elseif hold.state == 'settled' then
  return {id, 0}
elseif hold.state == 'held' then
  free(KEYS[4], id, KEYS[5], hold)
end

local change, doubt = {}, {}
for i = 1, 4 do
  change[i] = actual[i] - hold.charged[i]
  doubt[i] = (estimated and actual[i] or 0) - (hold.estimated and hold.charged[i] or 0)
end
post(KEYS[4], ARGV[6], hold.day, hold.month, hold.what, change, doubt)
for i = 1, 3 do
  local b = hold.rates and actual[i] ~= hold.amount[i] and bucket(KEYS[i], now, 11 + 3 * i)
  if b then
    if actual[i] > hold.amount[i] then take(b, actual[i] - hold.amount[i]) else give(b, hold.amount[i] - actual[i]) end
    store(b)
  end
end
redis.call('HSET', KEYS[6], 'state', 'settled', 'estimated', ARGV[4],
  'c1', int(actual[1]), 'c2', int(actual[2]), 'c3', int(actual[3]), 'c4', int(actual[4]))
if hold.state ~= 'none' and hold.task then return {id, 1} end -- a task's hold stays as long as the task may be asked for
redis.call('PEXPIRE', KEYS[6], ARGV[5])
return {id, 1}
