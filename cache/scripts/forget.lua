-- Frees the name of a request that runs once, if it still belongs to that request.
-- KEYS  1 once:<digest>   2 equal:<digest> of the requests that are equal
-- ARGV  1 the request's token, which is part of the value   2 its name in that list
local is = redis.call('GET', KEYS[1])
if is and string.find(is, ARGV[1], 1, true) then
  redis.call('DEL', KEYS[1])
  redis.call('LREM', KEYS[2], 0, ARGV[2])
end
return 1
