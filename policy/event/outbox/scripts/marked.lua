-- Notes when the next deliveries of pairs are due, unless an earlier one was written since they were taken, and replaces the call's seats by
-- the deliveries that are under way.
--
-- KEYS  1 the index  2 the prefix of the keys of seats
-- ARGV  2 when their pause ends, ms  3 the call's name  4 for how long a delivery counts, ms  5 the number of pairs
--       then of each pair its name and when its next delivery is due, ms; below 0: none waits
--       then of each hook its name, the number of its seats and of deliveries, and these
local i, ends = 6 + 2 * ARGV[5], math.floor(clock() / 1000) + ARGV[4]
for n = 6, i - 1, 2 do
  if redis.call('ZSCORE', KEYS[1], ARGV[n]) == ARGV[2] then
    if tonumber(ARGV[n + 1]) < 0 then redis.call('ZREM', KEYS[1], ARGV[n]) else redis.call('ZADD', KEYS[1], ARGV[n + 1], ARGV[n]) end
  end
end
while i < #ARGV do
  local key, taken = KEYS[2] .. ARGV[i], tonumber(ARGV[i + 2])
  for n = 1, ARGV[i + 1] do redis.call('ZREM', key, ARGV[3] .. ' ' .. n) end
  for n = i + 3, i + 2 + taken do redis.call('ZADD', key, ends, ARGV[n]) end
  if taken > 0 then redis.call('PEXPIRE', key, ARGV[4]) end
  i = i + 3 + taken
end
return 1
