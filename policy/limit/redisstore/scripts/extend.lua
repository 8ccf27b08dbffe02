-- Gives an open hold a new lease if that ends later: extensions may overtake each other. It is charged on the account given from now on.
-- id  lease  account is @ and its id or empty
-- Returns 1 if the hold is open, and when its lease ends.
local now, key = clock(), TEAM .. 'hold:' .. A.id
local hold = read(key)
if not hold or hold.state ~= 'held' then return {NUMBER, 0, 0} end
return {NUMBER, 1, renew(key, hold, A.account, now + A.lease)}
