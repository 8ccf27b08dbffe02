-- Frees the name of a request that runs once, if it still belongs to that request.
-- If it does not, the call that would take the name may still arrive: it will find that its request has ended.
-- KEYS  1 once:<digest>   2 equal:<digest> of the requests that are equal   3 ended:<token>
-- A  token: the request's, which is part of the value   name: its name in that hash   wait: ms for which a refused attempt waits
--    ended: ms for which it is remembered that a request has ended
local is = redis.call('GET', KEYS[1])
if not is or not string.find(is, A.token, 1, true) then
  redis.call('SET', KEYS[3], '1', 'PX', A.ended)
  return 1
end
redis.call('DEL', KEYS[1])
local call = redis.call('HGET', KEYS[2], A.name)
if not call then return 1 end
-- A repetition may arrive, or waits already: it runs in the place of this one.
local attempt, counts = string.match(call, '^(%d+) (%d)')
if counts == '1' or tonumber(attempt) > 0 then
  redis.call('HSET', KEYS[2], A.name, (string.gsub(call, '%d+$', whole(now))))
else
  redis.call('HDEL', KEYS[2], A.name)
end
for _, other in ipairs(redis.call('HGETALL', KEYS[2])) do
  if string.find(other, ' 0$') then return 1 end -- it was not refused, and is remembered as long as its task
end
redis.call('PEXPIRE', KEYS[2], A.wait)
return 1
