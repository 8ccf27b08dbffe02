-- Notes that a replica is alive and reaches Redis, and tells who else does.
--
-- KEYS  1 replicas: a field for each, with the moment of its last word; since, the moment since which some replica reached Redis
--       without a gap; last, the last word of any
-- ARGV  1 now or 0  2 a number to say again  3 replica  4 the moment that this was last told; 0: never  5 the longest gap
--       6 how long a replica counts as alive  7 how long it is remembered
-- Returns the number, now, how many are alive, since, and 1 where Redis knows less of the replica than it did.
local now = clock(ARGV[1])
local got = redis.call('HMGET', KEYS[1], 'since', 'last', ARGV[3])
local since = tonumber(got[1] or now)
if not got[2] or now - got[2] > tonumber(ARGV[5]) then since = now end
local back = tonumber(got[3] or 0) < tonumber(ARGV[4]) and 1 or 0
redis.call('HSET', KEYS[1], 'since', string.format('%d', since), 'last', string.format('%d', now), ARGV[3], string.format('%d', now))
local alive, all = 0, redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if all[i] ~= 'since' and all[i] ~= 'last' then
    local silent = now - all[i + 1]
    if silent <= tonumber(ARGV[6]) then alive = alive + 1 end
    if silent > tonumber(ARGV[7]) then redis.call('HDEL', KEYS[1], all[i]) end
  end
end
return {tonumber(ARGV[2]), now, alive, since, back}
