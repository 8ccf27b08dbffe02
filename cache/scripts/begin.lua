-- Lets the first request with a name run, or returns what is remembered of the first.
-- KEYS  1 once:<digest>   2 equal:<digest> of the requests that are equal   3 ended:<token>
-- A  value   life: in ms   name: its name in that hash
-- Returns 'ended' if the request has already ended.
if redis.call('EXISTS', KEYS[3]) == 1 then return 'ended' end
if not redis.call('SET', KEYS[1], A.value, 'NX', 'PX', A.life) then return redis.call('GET', KEYS[1]) end
local call = redis.call('HGET', KEYS[2], A.name)
if call then -- it is not refused any more
  redis.call('HSET', KEYS[2], A.name, (string.gsub(call, '%d+$', '0')))
  redis.call('PEXPIRE', KEYS[2], A.life)
end
return ''
