-- Notes when the next works of owners are due, unless another was written since they were taken.
--
-- KEYS  1 the owners, by when their first work is due, ms
-- ARGV  2 when their pause ends, ms  then of each owner its name and when its next work is due, ms; below 0: none waits
for i = 3, #ARGV, 2 do
  if redis.call('ZSCORE', KEYS[1], ARGV[i]) == ARGV[2] then
    if tonumber(ARGV[i + 1]) < 0 then redis.call('ZREM', KEYS[1], ARGV[i]) else redis.call('ZADD', KEYS[1], ARGV[i + 1], ARGV[i]) end
  end
end
return 1
