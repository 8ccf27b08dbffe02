-- Takes deliveries of an owner's events that are due: nobody else gets them until the lease ends.
--
-- ARGV  2 the lease, ms  3 the most deliveries to one hook  4 an event's life, ms  then the hooks
-- Returns for each hook when its next delivery is due after that, ms, or -1; how many follow; and of each its place with the path behind it,
--       its type, data, and what is known of its tries, or empty.
local now = math.floor(clock() / 1000)
local reply = {}
for i = 5, #ARGV do
  local due, taken = TEAM .. 'due:' .. ARGV[i], 0
  local head = #reply
  reply[head + 1], reply[head + 2] = -1, 0
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, ARGV[3])) do
    local place = string.match(member, '^%S+')
    local entry = tonumber((string.match(place, '^%d+'))) >= now - ARGV[4] and redis.call('XRANGE', KEYS[1], place, place)[1]
    if entry then
      taken = taken + 1
      redis.call('ZADD', due, now + ARGV[2], member)
      local tried = redis.call('HGET', tried_key(place), tried_field(place, ARGV[i] .. string.sub(member, #place + 1)))
      for _, of in ipairs({member, entry[2][2], entry[2][4], tried or ''}) do reply[#reply + 1] = of end
    else
      redis.call('ZREM', due, member)
    end
  end
  reply[head + 2] = taken
  local next = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
  if next[2] then reply[head + 1] = tonumber(next[2]) end
end
return reply
