-- Adds one to a count that ends a while after it began, and returns it.
-- KEYS[1] the count. ARGV[1] the while in ms.
local n = redis.call('INCR', KEYS[1])
if n == 1 then
	redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return n
