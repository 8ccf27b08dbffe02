-- Stores a value and notes its key in the index of its kind, by the time at which it was made.
-- KEYS[1] the index, KEYS[2] the value's key. ARGV[1] the value, ARGV[2] its lifetime in ms, ARGV[3] how many are kept.
local now = redis.call('TIME')
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
redis.call('ZADD', KEYS[1], string.format('%.0f', now[1] * 1000000 + now[2]), KEYS[2])
-- Forgets the expired among the oldest.
local function forget(oldest)
	for _, key in ipairs(redis.call('ZRANGE', KEYS[1], 0, oldest - 1)) do
		if redis.call('EXISTS', key) == 0 then
			redis.call('ZREM', KEYS[1], key)
		end
	end
end
local function full() return redis.call('ZCARD', KEYS[1]) > tonumber(ARGV[3]) end
forget(16) -- few, so that the script stays short
if full() then
	forget(1000) -- before a live one is evicted: others behind it may have expired
end
if full() then
	local oldest = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
	redis.call('DEL', oldest)
	redis.call('ZREM', KEYS[1], oldest)
end
redis.call('PEXPIRE', KEYS[1], 86400000) -- no value lives as long as a day
return 1
