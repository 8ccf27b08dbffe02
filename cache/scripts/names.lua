-- Names a team's tasks that the service still knows, newest first.
-- KEYS  1 tasks  2 due   A  known: for how long a task is known  before: only those made before this moment, 0 for any
--       most: how many, below 0 for all  open: 1 for those that have not ended, in no order and all of them
-- Returns the id of each and when it was made, in turn.
local first = now - A.known
if A.open == '0' then
  local last = A.before == '0' and '+inf' or '(' .. A.before
  return redis.call('ZRANGE', KEYS[1], last, whole(first), 'BYSCORE', 'REV', 'LIMIT', 0, A.most, 'WITHSCORES')
end
local list = {}
for _, id in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  local created = redis.call('ZSCORE', KEYS[1], id)
  if created and tonumber(created) >= first then
    list[#list + 1], list[#list + 2] = id, whole(created)
  end
end
return list
