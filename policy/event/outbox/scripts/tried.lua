-- Records the outcome of a try.
--
-- ARGV  2 the event's place  3 the target  4 an event's life, ms  5 the row  6 when the next try is due, ms; empty: there is none
-- Returns 1 if it was recorded, 0 if another caller has ended the delivery.
local place, target, hook = ARGV[2], ARGV[3], hook_of(ARGV[3])
local due, member = TEAM .. 'due:' .. hook, ARGV[2] .. string.sub(ARGV[3], #hook + 1)
if ARGV[6] == '' then
  redis.call('ZREM', due, member)
elseif redis.call('ZSCORE', due, member) then
  redis.call('ZADD', due, ARGV[6], member)
else
  return 0
end
local key = tried_key(place)
redis.call('HSET', key, tried_field(place, target), ARGV[5])
redis.call('PEXPIRE', key, ARGV[4] + 86400000)
return 1
