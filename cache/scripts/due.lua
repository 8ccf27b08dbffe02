-- Hands out tasks that are due, each to one caller for a while.
-- KEYS  1 due   A  most: how many  again: how long until each is due again, if no answer is recorded
-- Returns their ids.
local list = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, A.most)
for _, id in ipairs(list) do redis.call('ZADD', KEYS[1], now + A.again, id) end
return list
