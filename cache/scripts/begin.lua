-- Lets the first request with a name run, or returns what is remembered of the first.
-- KEYS  1 once:<digest>   2 equal:<digest> of the requests that are equal   3 ended:<token>
-- ARGV  1 value   2 life in ms   3 its name in that hash
-- Returns 'ended' to a request that has ended before.
if redis.call('EXISTS', KEYS[3]) == 1 then return 'ended' end
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('GET', KEYS[1]) end
local call = redis.call('HGET', KEYS[2], ARGV[3])
if call then -- it is not refused any more
  redis.call('HSET', KEYS[2], ARGV[3], (string.gsub(call, '%d+$', '0')))
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
return ''
