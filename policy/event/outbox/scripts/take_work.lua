-- Takes works of an owner that are due: no other caller gets them until the lease ends.
--
-- ARGV  2 the lease, ms  3 the most works  4 the suffix of the key of works to take from
-- Returns when the next is due after that, ms, or -1; then the works.
local now, due, reply = math.floor(clock() / 1000), TEAM .. ARGV[4], {-1}
for _, task in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, ARGV[3])) do
  local work = redis.call('HGET', TEAM .. 'works', task)
  if work then
    redis.call('ZADD', due, now + ARGV[2], task)
    reply[#reply + 1] = work
  else
    redis.call('ZREM', due, task)
  end
end
local next = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
if next[2] then reply[1] = tonumber(next[2]) end
return reply
