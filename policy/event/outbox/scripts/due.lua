-- Takes deliveries of an owner's events that are due: no other caller gets them until the lease ends.
--
-- ARGV  2 the lease, ms  3 the most deliveries  4 an event's life, ms  then of each hook its name, and the most deliveries to it
-- Returns for each hook when its next delivery is due after that, ms, or -1; how many are lost because their events are no longer kept;
--       how many follow; and of each the event's place and the target's path, the event's type and data, and the row of its tries, or empty.
local now, left = math.floor(clock() / 1000), tonumber(ARGV[3])
local reply = {}
local most_lost = 1000 -- of a hook in a call

-- dead reports whether the life of the event at a place has ended.
local function dead(place) return tonumber((string.match(place, '^%d+'))) < now - ARGV[4] end

local function take(due, hook, member)
  local place = string.match(member, '^%S+')
  local entry = not dead(place) and redis.call('XRANGE', KEYS[1], place, place)[1]
  if not entry then
    redis.call('ZREM', due, member)
    return false
  end
  redis.call('ZADD', due, now + ARGV[2], member)
  local tried = redis.call('HGET', tried_key(place), tried_field(place, hook .. string.sub(member, #place + 1)))
  for _, of in ipairs({member, entry[2][2], entry[2][4], tried or ''}) do reply[#reply + 1] = of end
  return true
end

for i = 5, #ARGV, 2 do
  local due, taken, lost = TEAM .. 'due:' .. ARGV[i], 0, 0
  local most, head = math.min(left, tonumber(ARGV[i + 1])), #reply
  reply[head + 1], reply[head + 2], reply[head + 3] = -1, 0, 0
  local more = true
  while more and lost < most_lost do
    local list = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, 100)
    more = #list > 0
    for _, member in ipairs(list) do
      more = lost < most_lost and (taken < most or dead(member)) -- what is lost is counted even where there is no room
      if not more then break end
      if take(due, ARGV[i], member) then taken = taken + 1 else lost = lost + 1 end
    end
  end
  local before = redis.call('HGET', TEAM .. 'lost', ARGV[i])
  if before then
    redis.call('HDEL', TEAM .. 'lost', ARGV[i])
    lost = lost + before
  end
  left, reply[head + 2], reply[head + 3] = left - taken, lost, taken
  local next = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
  if next[2] then reply[head + 1] = tonumber(next[2]) end
end
return reply
