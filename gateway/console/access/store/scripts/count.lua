-- Adds to a count that ends a while after its first step, and returns it.
-- KEYS[1] the count. ARGV[1] the step, 0 to read, ARGV[2] the while in ms. A step below 0 leaves the count at 0 or above.
local is = tonumber(redis.call('GET', KEYS[1]) or 0)
if ARGV[1] == '0' or is + ARGV[1] < 0 then
	return is
end
local n = redis.call('INCRBY', KEYS[1], ARGV[1])
if n == tonumber(ARGV[1]) then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return n
