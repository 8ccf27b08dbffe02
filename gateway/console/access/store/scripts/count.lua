-- Adds to a count that ends a while after its first step, and returns it.
-- KEYS[1] the count. ARGV[1] the step, 0 to read, ARGV[2] the while in ms.
if ARGV[1] == '0' then
	return tonumber(redis.call('GET', KEYS[1]) or 0)
end
local n = redis.call('INCRBY', KEYS[1], ARGV[1])
if n == tonumber(ARGV[1]) then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return n
