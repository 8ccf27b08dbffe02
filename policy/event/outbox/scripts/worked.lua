-- Records the outcome of a try with a work.
--
-- ARGV  2 JSON: task, work if it has changed, next (until some caller gets it, ms; 0: unchanged), keep (its life from now on, ms), done (it is
--       removed), released (its success is no longer held back), tell (an event that is written if the success was held back until now),
--       beside (an event that is written if it was not, and if it said that fewer pictures are stored), stored (how many are)
-- Returns 1 if the work was kept, 0 if another caller has ended it; which event was written: 0 none, 1 tell, 2 beside; how many older events
--       were dropped; when some caller gets the work, ms, or 0.
local a, now = cjson.decode(ARGV[2]), clock()
local due, late, works, told = TEAM .. 'works:due', TEAM .. 'works:late', TEAM .. 'works', TEAM .. 'works:told'
if redis.call('HEXISTS', works, a.task) == 0 then return {0, 0, 0, 0} end
local held = a.released and redis.call('ZSCORE', late, a.task)
local e = a.beside
if held then
  e = a.tell
elseif e and a.stored <= tonumber(redis.call('HGET', told, a.task) or 0) then
  e = nil
end
if e then ready_event(e) end
redis.call('ZCARD', due)
local wrote, dropped = 0, 0
if e then
  wrote, dropped = held and 1 or 2, select(2, write_event(e, now))
end
if held then redis.call('ZREM', late, a.task) end
if held and e and a.stored > 0 and not a.done then redis.call('HSET', told, a.task, a.stored) end
if a.done then
  redis.call('HDEL', told, a.task)
  redis.call('HDEL', works, a.task)
  redis.call('ZREM', due, a.task)
  return {1, wrote, dropped, 0}
end
if a.work then redis.call('HSET', works, a.task, a.work) end
for _, key in ipairs({due, late, works, told}) do redis.call('PEXPIRE', key, a.keep) end
local at = a.next > 0 and math.floor(now / 1000) + a.next or 0
if at > 0 then redis.call('ZADD', due, at, a.task) end
return {1, wrote, dropped, at}
