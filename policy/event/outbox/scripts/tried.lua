-- Records the outcome of a try.
--
-- ARGV  2 the event's place  3 the target  4 an event's life, ms  5 the state  6 how many tries there were  7 the last one's status
--       8 how long until the next try, ms: if the delivery waits
-- Returns the state, the time of the try, and when the next try is due, ms; 0: no further try. Nothing is recorded if another caller has
-- ended the delivery, or if the event is no longer kept: then a delivery that would wait is lost.
local place, target, hook, now = ARGV[2], ARGV[3], hook_of(ARGV[3]), math.floor(clock() / 1000)
local due, member = TEAM .. 'due:' .. hook, ARGV[2] .. string.sub(ARGV[3], #hook + 1)
local state, next = ARGV[5], 0
if state == 'waiting' then
  next = now + ARGV[8]
  if next > string.match(place, '^%d+') + ARGV[4] then state, next = 'given_up', 0 end
end
local reply = {state, now, next}
local kept = #redis.call('XRANGE', KEYS[1], place, place) > 0
if state ~= 'waiting' then
  redis.call('ZREM', due, member)
elseif not kept then
  lose(due, hook, member, ARGV[4])
elseif redis.call('ZSCORE', due, member) then
  redis.call('ZADD', due, string.format('%d', next), member)
else
  return reply
end
if not kept then return reply end
local key = tried_key(place)
redis.call('HSET', key, tried_field(place, target), string.format('%s %s %s %d %d', state, ARGV[6], ARGV[7], now, next))
redis.call('PEXPIRE', key, math.max((math.floor(string.match(place, '^%d+') / 86400000) + 1) * 86400000 + ARGV[4] - now, 1))
return reply
