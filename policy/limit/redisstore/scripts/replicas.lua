-- Records that a replica is alive and reaches Redis, and returns how many are.
--
-- KEYS  1 replicas: a field for each with its last beat; last, the last beat of any; quiet and heard, the last long time without a
--       beat; from and to, the last such time that some replica survived
-- replica  before, the time of its last beat as Redis returned it then, 0: none  gap is how long a long time is at least
-- alive is how long a replica counts as alive  forget is how long it is remembered
-- Returns now, how many replicas are alive, 1 if Redis has an older beat of this replica than before, and from and to: an outage
--       for all replicas. A time that no replica survived is no sign of an outage.
local now, before, gap = clock(), A.before, A.gap
local got = redis.call('HMGET', KEYS[1], 'last', 'quiet', 'heard', 'from', 'to', A.replica)
local last, quiet, heard = tonumber(got[1] or now), tonumber(got[2] or 0), tonumber(got[3] or 0)
local from, to = tonumber(got[4] or 0), tonumber(got[5] or 0)
if now - last > gap then quiet, heard = last, now end
if before > 0 and before <= quiet and before >= quiet - gap then from, to = quiet, heard end
local fields = {last = now, quiet = quiet, heard = heard, from = from, to = to, [A.replica] = now}
for field, at in pairs(fields) do redis.call('HSET', KEYS[1], field, string.format('%d', at)) end
local alive, all = 0, redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if #all[i] > 5 then -- a replica
    local silent = now - all[i + 1]
    if silent <= A.alive then alive = alive + 1 end
    if silent > A.forget then redis.call('HDEL', KEYS[1], all[i]) end
  end
end
return {NUMBER, now, alive, tonumber(got[6] or 0) < before and 1 or 0, from, to}
