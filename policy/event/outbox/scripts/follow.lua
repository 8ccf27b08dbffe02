-- Notes the owners with open streams of events, and returns the owners that had one within an event's life.
--
-- KEYS  1 the owners, by when a stream was last open, ms; the empty one has the version, µs
-- ARGV  2 an event's life, ms  3 the version that the caller knows  then the owners to note
-- Returns the version, how many of the owners were new, and, if the caller does not know the version, all owners.
local key, now, keep = KEYS[1], clock(), tonumber(ARGV[2])
local ms = math.floor(now / 1000)
local version, added = redis.call('ZSCORE', key, ''), 0
local gone = redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('(%d', ms - keep))
for i = 4, #ARGV do added = added + redis.call('ZADD', key, string.format('%d', ms), ARGV[i]) end
if gone > 0 or added > 0 then
  version = string.format('%d', math.max(now, (tonumber(version) or 0) + 1))
  redis.call('ZADD', key, version, '')
end
if #ARGV > 3 then redis.call('PEXPIRE', key, keep) end
version = version and string.format('%d', version) or '0'
local reply = {version, added}
if version ~= ARGV[3] then
  for _, owner in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    if owner ~= '' then reply[#reply + 1] = owner end
  end
end
return reply
