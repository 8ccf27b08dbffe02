-- Takes one of the equal requests for a repetition, or lists a new one.
-- KEYS  1 equal:<digest>   2 once:<digest> of the new one   3 ended:<token>
-- A  attempt: which this is, 0 the first   counts: 1 if its client counts attempts   patience: within which a repetition overtakes
--    its first attempt   name: the new one   value: of that   life: in ms   most: how many are kept
--    wait: for how long a refused attempt waits for its repetition
-- Returns 'new', 'taken' or, to a request that has ended before, 'ended'; and the name.
-- A field of the hash is "attempt counts early left begun refused": the last attempt that took it, whether its client counts
-- attempts, whether it is a repetition whose first attempt has not arrived, whether the client of the last attempt left without
-- the answer, and when it began and was refused in microseconds.
if redis.call('EXISTS', KEYS[3]) == 1 then return {'ended', ''} end
local attempt, life = tonumber(A.attempt), tonumber(A.life)
local flat, calls = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #flat, 2 do
  local a, c, o, l, b, r = string.match(flat[i + 1], '^(%d+) (%d) (%d) (%d) (%d+) (%d+)$')
  local call = {name = flat[i], attempt = tonumber(a), counts = c, early = o, left = l, begun = tonumber(b), refused = tonumber(r)}
  if not call.begun or call.begun < now - life * 1000 then redis.call('HDEL', KEYS[1], call.name) else calls[#calls + 1] = call end
end
local function write(call)
  redis.call('HSET', KEYS[1], call.name, string.format('%d %s %s %s %.0f %.0f', call.attempt, call.counts, call.early, call.left, call.begun, call.refused))
  redis.call('PEXPIRE', KEYS[1], life)
end
local function rank(call)
  if call.attempt >= attempt then return call.refused == 0 and -1 or -2 end
  if call.refused > 0 then return call.refused >= now - A.wait and call.attempt * 3 + 1 or -2 end
  return call.attempt * 3 + (call.left == '1' and 2 or 0)
end
local best, most, late
for _, call in ipairs(calls) do
  if attempt == 0 and A.counts == '1' and call.early == '1' and call.begun >= now - A.patience
    and (call.refused == 0 or call.refused >= now - A.wait) and (not late or call.begun < late.begun) then late = call end
  local is = rank(call)
  if attempt > 0 and is > -2 and (not best or is > most or is == most and call.begun > best.begun) then best, most = call, is end
end
if late then -- it may be the first attempt of this one, only late
  late.early = '0'
  write(late)
  return {'taken', late.name}
end
if best then
  best.attempt, best.refused, best.left = math.max(best.attempt, attempt), 0, '0'
  write(best)
  return {'taken', best.name}
end
local function before(a, b)
  if (a.refused > 0) ~= (b.refused > 0) then return a.refused > 0 end
  return a.begun < b.begun
end
table.sort(calls, before)
for i = 1, #calls - A.most + 1 do redis.call('HDEL', KEYS[1], calls[i].name) end
write({name = A.name, attempt = attempt, counts = A.counts, early = attempt > 0 and '1' or '0', left = '0', begun = now, refused = 0})
redis.call('SET', KEYS[2], A.value, 'PX', life)
return {'new', A.name}
