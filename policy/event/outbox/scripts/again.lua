-- Delivers an event again to all of its targets.
--
-- ARGV  2 its place  3 an event's life, ms
-- Returns its targets, one a line, or false if it is no longer kept.
local now, place = math.floor(clock() / 1000), ARGV[2]
local entry = tonumber((string.match(place, '^%d+'))) >= now - ARGV[3] and redis.call('XRANGE', KEYS[1], place, place)[1]
if not entry then return false end
for target in string.gmatch(entry[2][6], '[^\n]+') do
  await(place, target, string.format('%d', now), ARGV[3])
  redis.call('HDEL', tried_key(place), tried_field(place, target))
end
return entry[2][6]
