-- Returns the values of a kind, the newest first, and forgets the keys of expired ones.
-- KEYS[1] the index.
local values = {}
for _, key in ipairs(redis.call('ZREVRANGE', KEYS[1], 0, -1)) do
	local value = redis.call('GET', key)
	if value then
		values[#values + 1] = value
	else
		redis.call('ZREM', KEYS[1], key)
	end
end
return values
