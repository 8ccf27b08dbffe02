-- Frees the name of a request that runs once, if it still stands for that request and no other.
-- KEYS  1 once:<digest>   ARGV  1 the request's token, which is part of what stands there
local is = redis.call('GET', KEYS[1])
if is and string.find(is, ARGV[1], 1, true) then redis.call('DEL', KEYS[1]) end
return 1
