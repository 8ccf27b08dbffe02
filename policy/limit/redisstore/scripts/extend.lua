-- Gives an open hold a new lease if that ends later: extensions may overtake each other.
-- id  lease
-- Returns 1 if the hold is open, and when its lease ends.
local now, key = clock(), TEAM .. 'hold:' .. A.id
local hold = read(key)
if not hold or hold.state ~= 'held' then return {NUMBER, 0, 0} end
local due = redis.call('ZADD', TEAM .. 'open', 'XX', 'INCR', 0, A.id) -- reads it, by a command that is permitted already
due = tonumber(due or 0)
if due < now + A.lease then
  due = now + A.lease
  redis.call('ZADD', TEAM .. 'open', string.format('%d', due), A.id)
  redis.call('SET', key, redis.call('GET', key)) -- an older version gave it a time to live
end
return {NUMBER, 1, due}
