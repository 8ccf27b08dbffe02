-- Gives an open hold a new lease if that ends later: extensions may overtake each other.
-- KEYS  1 open  2 hold:<id>   ARGV  3 id  4 lease
-- Returns 1 if the hold is open, and when its lease ends.
local now = clock(ARGV[1])
local hold = read(KEYS[2])
if not hold or hold.state ~= 'held' then return {tonumber(ARGV[2]), 0, 0} end
local lease = tonumber(ARGV[4])
local due = redis.call('ZADD', KEYS[1], 'XX', 'INCR', 0, ARGV[3]) -- reads it, by a command that is permitted already
due = tonumber(due or 0)
if due < now + lease then
  due = now + lease
  redis.call('ZADD', KEYS[1], due, ARGV[3])
  redis.call('SET', KEYS[2], redis.call('GET', KEYS[2])) -- an older version gave it a time to live
end
return {tonumber(ARGV[2]), 1, due}
