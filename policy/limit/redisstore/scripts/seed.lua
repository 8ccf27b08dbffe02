-- Raises the use of an account outside of the teams to what the teams used, and lists a replica that charges it. Both happen once: the
-- use is raised only if no replica has raised it since the caller looked.
--
-- epoch and seq known  replica  live are the replicas that may stay in the list  was is when the use was raised last as the caller knows
-- it, 0 never  at is when the caller began to look  rows: name is a field without :used, n is missing; none: nothing is raised
-- Returns 1 if the use was raised, or did not have to be; else 0.
local now = clock()
local head = redis.call('HMGET', QUOTA, 'epoch', 'seq', 'restoring', 'raised')
local refused = refusal(head[1], head[2], head[3], now)
if refused then return refused end
local list = TEAM .. 'replicas'
redis.call('HLEN', list) -- a key of the wrong type fails here, before anything is written
if A.raise and tonumber(head[4] or 0) ~= A.was then return {NUMBER, 0, now} end

if not head[1] then redis.call('HSET', QUOTA, 'epoch', text(now), 'team', string.match(QUOTA, '{(.-)}')) end
if A.raise then
  for _, row in ipairs(A.rows) do
    local used = redis.call('HINCRBY', QUOTA, row.name .. ':used', text(row.n))
    -- A replica that restores a smaller count later does not add it to this.
    if used > tonumber(redis.call('HGET', QUOTA, row.name .. ':told') or 0) then redis.call('HSET', QUOTA, row.name .. ':told', text(used)) end
  end
  redis.call('HINCRBY', QUOTA, 'seq', 1)
  redis.call('HSET', QUOTA, 'raised', text(A.at))
end
local live = {}
for _, id in ipairs(A.live) do live[id] = true end
for _, id in ipairs(redis.call('HKEYS', list)) do
  if not live[id] then redis.call('HDEL', list, id) end
end
redis.call('HSET', list, A.replica, text(now))
return {NUMBER, 1, now}
