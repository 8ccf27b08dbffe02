-- Frees the name of a request that runs once, if it still belongs to that request.
-- KEYS  1 once:<digest>   ARGV  1 the request's token, which is part of the value
local is = redis.call('GET', KEYS[1])
if is and string.find(is, ARGV[1], 1, true) then redis.call('DEL', KEYS[1]) end
return 1
