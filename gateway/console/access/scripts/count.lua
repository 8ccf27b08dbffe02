-- Adds one to a count that expires a fixed time after its start, and returns it.
-- KEYS[1] the count. ARGV[1] that time in ms.
local n = redis.call('INCR', KEYS[1])
if n == 1 then
	redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return n
