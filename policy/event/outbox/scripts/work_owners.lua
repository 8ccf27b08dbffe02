-- Takes owners of works that may be due: no other caller gets them before the pause is over, or a work is written.
--
-- KEYS  1 the owners, by when their first work is due, ms
-- ARGV  2 the pause, ms  3 the most owners
-- Returns when the pause ends, then the owners.
local now = math.floor(clock() / 1000)
local reply = {now + ARGV[2]}
for _, owner in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[3])) do
  redis.call('ZADD', KEYS[1], reply[1], owner)
  reply[#reply + 1] = owner
end
return reply
