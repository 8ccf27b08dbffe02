-- Puts back what a replica knows a team to have used. The first to do so adds it to what was charged since the state was
-- lost; after that only what is greater counts, because replicas know the same.
-- KEYS  1 quota   ARGV  1 team  2 an epoch to begin, if there is none  3 a number to say again
--       4… field, amount
-- Returns the number and the epoch.
local epoch = redis.call('HGET', KEYS[1], 'epoch')
local first = not epoch
if first then
  epoch = ARGV[2]
  redis.call('HSET', KEYS[1], 'epoch', epoch, 'team', ARGV[1])
end
for i = 4, #ARGV, 2 do
  local known = tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or 0)
  local told = tonumber(ARGV[i + 1])
  if first then told = told + known end
  if told > known then redis.call('HSET', KEYS[1], ARGV[i], told) end
end
return {tonumber(ARGV[3]), tonumber(epoch)}
