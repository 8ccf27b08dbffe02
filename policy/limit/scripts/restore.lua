-- Puts back what a replica knows a team to have used, where the state that was lost knew no less.
-- KEYS  1 quota   ARGV  1 team  2 an epoch to begin, if there is none  3… field, amount
-- Returns the epoch.
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if not epoch then
  epoch = ARGV[2]
  redis.call('HSET', KEYS[1], 'epoch', epoch, 'team', ARGV[1])
end
for i = 3, #ARGV, 2 do
  local known = tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or 0)
  if tonumber(ARGV[i + 1]) > known then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
return epoch
