-- Notes when the next deliveries of pairs are due, unless an earlier one was written since they were taken.
--
-- KEYS  1 the index
-- ARGV  1 the moment that their pause ends, ms  then of each pair its name and when its next delivery is due, ms; below 0: none waits
for i = 2, #ARGV, 2 do
  if redis.call('ZSCORE', KEYS[1], ARGV[i]) == ARGV[1] then
    if tonumber(ARGV[i + 1]) < 0 then redis.call('ZREM', KEYS[1], ARGV[i]) else redis.call('ZADD', KEYS[1], ARGV[i + 1], ARGV[i]) end
  end
end
return 1
