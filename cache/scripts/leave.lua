-- Notes that the client of an attempt has gone without the answer.
-- KEYS  1 equal:<digest> of the requests that are equal   ARGV  1 its name in that hash
local call = redis.call('HGET', KEYS[1], ARGV[1])
if call then redis.call('HSET', KEYS[1], ARGV[1], (string.gsub(call, '^(%d+ %d %d) %d', '%1 1'))) end
return 1
