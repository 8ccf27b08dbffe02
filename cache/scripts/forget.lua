-- Frees the name of a request that runs once, if it still belongs to that request.
-- If it does not, what would have taken the name may still arrive: it will find that its request has ended.
-- KEYS  1 once:<digest>   2 equal:<digest> of the requests that are equal   3 ended:<token>
-- ARGV  1 the request's token, which is part of the value   2 its name in that hash   3 ms for which a refused attempt waits
--       4 ms for which it is remembered that a request has ended
local is = redis.call('GET', KEYS[1])
if not is or not string.find(is, ARGV[1], 1, true) then
  redis.call('SET', KEYS[3], '1', 'PX', ARGV[4])
  return 1
end
redis.call('DEL', KEYS[1])
local call = redis.call('HGET', KEYS[2], ARGV[2])
if not call then return 1 end
-- A repetition may come, or waits already: it runs in the place of this one.
local attempt, counts = string.match(call, '^(%d+) (%d)')
if counts == '1' or tonumber(attempt) > 0 then
  local t = redis.call('TIME')
  redis.call('HSET', KEYS[2], ARGV[2], (string.gsub(call, '%d+$', string.format('%.0f', tonumber(t[1]) * 1000000 + tonumber(t[2])))))
else
  redis.call('HDEL', KEYS[2], ARGV[2])
end
for _, other in ipairs(redis.call('HGETALL', KEYS[2])) do
  if string.find(other, ' 0$') then return 1 end -- it was not refused, and is remembered as long as its task
end
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1
