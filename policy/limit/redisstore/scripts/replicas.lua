-- Records that a replica is alive and reaches Redis, and returns how many are, and its part of what all may have in flight.
--
-- KEYS  1 replicas: a field for each with its last beat; last, the last beat of any; quiet and heard, the start and the end of the last gap
--       without a beat; from and to, those of the last gap that some replica survived
-- KEYS  2 parts: a field for each with its part, 1 if it stays, and what it has beyond its part; left, if it ended; since, when the key was made
-- replica  before, the time of its last beat as Redis returned it then, 0: none  gap is the shortest time without a beat that counts as a gap
-- alive is how long a replica counts as alive  forget is how long it is remembered
-- part is what it has, in millionths  stays is 0 if it ends  beyond is what it has in flight beyond its part  bound is how many replicas there
--       may be  bridge is how long one that is cut off may go on
-- Returns now, how many replicas are alive, 1 if Redis has an older beat of this replica than before, from and to: an outage
--       for all replicas, and its part from now on. A gap that no replica survived is no sign of an outage.
-- The recorded parts never add up to more than the whole. A replica's part grows by what is free, and shrinks once it reports that it uses
-- less. For each replica that does not answer, the part that it falls back to stays reserved, up to the number that may run. A replica of an
-- older version has no part: then each has one part in a fixed number.
local now, before, gap = clock(), A.before, A.gap
local got = redis.call('HMGET', KEYS[1], 'last', 'quiet', 'heard', 'from', 'to', A.replica)
local last, quiet, heard = tonumber(got[1] or now), tonumber(got[2] or 0), tonumber(got[3] or 0)
local from, to = tonumber(got[4] or 0), tonumber(got[5] or 0)
if now - last > gap then quiet, heard = last, now end
if before > 0 and before <= quiet and before >= quiet - gap then from, to = quiet, heard end
local fields = {last = now, quiet = quiet, heard = heard, from = from, to = to, [A.replica] = now}
for field, at in pairs(fields) do redis.call('HSET', KEYS[1], field, string.format('%d', at)) end
local alive, all = 0, redis.call('HGETALL', KEYS[1])
local parts, flat = {}, redis.call('HGETALL', KEYS[2])
for i = 1, #flat, 2 do parts[flat[i]] = flat[i + 1] end
local whole, least, n, taken, gone, older = 1000000, math.floor(1000000 / A.bound), A.stays, 0, 0, false
for i = 1, #all, 2 do
  local id, silent = all[i], now - all[i + 1]
  if #id > 5 then -- a replica
    local part, stays = string.match(parts[id] or '', '^(%d+) (%d)')
    if silent <= A.alive then alive = alive + 1 end
    if silent > A.forget then redis.call('HDEL', KEYS[1], id) end
    if id == A.replica then -- its own part is an argument
    elseif silent <= A.alive then
      if part then n, taken = n + stays, taken + part else older = older or not parts[id] end
    elseif part and silent <= A.bridge then
      gone = gone + 1
      if string.find(parts[id], '{', 1, true) then redis.call('HSET', KEYS[2], id, part .. ' ' .. stays .. ' ') end -- it may have died: what it had beyond its part is dropped
    elseif parts[id] then redis.call('HDEL', KEYS[2], id) end
  end
end
local free = whole - math.min(gone, math.max(A.bound - n, 0)) * least
local target, part = math.floor(free / math.max(n, 1)), 0
if not parts.since then redis.call('HSET', KEYS[2], 'since', string.format('%d', now)) end
local known = now - (parts.since or now)
if known <= A.alive then target = math.min(target, math.max(A.part, least)) end -- not all replicas have reported
if known <= A.gap and A.part == 0 and A.bound > 1 then target = 0 end -- a new replica waits until the running ones have reported their parts
if A.stays == 0 then part = 0
elseif older then target = least; part = least
else part = math.max(A.part, math.min(target, free - taken)) end
redis.call('HSET', KEYS[2], A.replica, string.format('%d %d ', part, A.stays) .. A.beyond)
return {NUMBER, now, alive, tonumber(got[6] or 0) < before and 1 or 0, from, to, math.min(part, target)}
