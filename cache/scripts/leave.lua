-- Notes that the client of an attempt left without the answer.
-- KEYS  1 equal:<digest> of the requests that are equal   A  name: its name in that hash
local call = redis.call('HGET', KEYS[1], A.name)
if call then redis.call('HSET', KEYS[1], A.name, (string.gsub(call, '^(%d+ %d %d) %d', '%1 1'))) end
return 1
