-- Gives an open hold a new lease if that ends later: extensions may overtake each other. It is charged on the account given from now on.
-- id  lease  account is @ and its id or empty
-- Returns 1 if the hold is open, and when its lease ends.
local now, key = clock(), TEAM .. 'hold:' .. A.id
local hold = read(key)
if not hold or hold.state ~= 'held' then return {NUMBER, 0, 0} end
local due = redis.call('ZADD', TEAM .. 'open', 'XX', 'INCR', 0, A.id) -- reads it by a command that the ACL already permits
due = tonumber(due or 0)
local moved, later = on_account(hold.team, A.account), due < now + A.lease
if later or moved ~= hold.team then
  hold.team = moved
  redis.call('SET', key, text_of(hold)) -- an older version gave it a time to live
end
if later then
  due = now + A.lease
  redis.call('ZADD', TEAM .. 'open', string.format('%d', due), A.id)
end
return {NUMBER, 1, due}
