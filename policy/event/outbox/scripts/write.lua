-- Events of the owner whose keys begin with TEAM; the package comment of outbox describes the keys. An event is a table: type, data, to (a
-- list of targets), keep (its life, ms), most (events of an owner). An event with a work (task, text, day, pictures, wait: how long it is held
-- back, ms) is not written yet: the work is kept instead.

-- hook_of is the hook of a target.
local function hook_of(target) return string.match(target, '^%S+') end

-- ready_event fails if a key that write_event writes is of another type. A script calls it before it changes anything.
local function ready_event(e)
  if e.work then
    redis.call('HLEN', TEAM .. 'works')
    redis.call('ZCARD', TEAM .. 'works:due')
    redis.call('ZCARD', TEAM .. 'works:late')
    redis.call('HLEN', TEAM .. 'succeeded:' .. e.work.day)
    return
  end
  redis.call('XLEN', TEAM .. 'events')
  for _, target in ipairs(e.to) do redis.call('ZCARD', TEAM .. 'due:' .. hook_of(target)) end
end

-- await makes a delivery to a target due at a time, ms.
local function await(place, target, at, keep)
  local hook = hook_of(target)
  redis.call('ZADD', TEAM .. 'due:' .. hook, at, place .. string.sub(target, #hook + 1))
  redis.call('PEXPIRE', TEAM .. 'due:' .. hook, keep + 3600000) -- an hour longer than its event: it is counted if it is lost
end

-- keep_work keeps a work, which is done before an event is written. It lives longer than the addresses of a task's pictures, which are valid
-- for a day, and as long as its event would.
local function keep_work(w, ms)
  local works, succeeded = TEAM .. 'works', TEAM .. 'succeeded:' .. w.day
  redis.call('HSET', works, w.task, w.text)
  redis.call('ZADD', TEAM .. 'works:due', ms, w.task)
  redis.call('ZADD', TEAM .. 'works:late', ms + w.wait, w.task)
  for _, key in ipairs({works, TEAM .. 'works:due', TEAM .. 'works:late'}) do redis.call('PEXPIRE', key, w.keep) end
  redis.call('HSET', succeeded, w.task, w.pictures)
  redis.call('PEXPIRE', succeeded, w.remember)
end

-- lose removes a delivery that waits, of an event that is not kept, and notes it as lost for its hook, whose next taker counts it (due.lua).
local function lose(due, hook, member, keep)
  if redis.pcall('ZREM', due, member) == 1 then
    redis.pcall('HINCRBY', TEAM .. 'lost', hook, 1)
    redis.pcall('PEXPIRE', TEAM .. 'lost', keep)
  end
end

-- drop_delivery drops what is kept of a delivery of an event that is dropped, and loses it if it waits. So no more deliveries wait for a hook
-- than the events that are kept have targets. One that is under way waits until its lease ends, and not for a later try that its row has: its
-- outcome ends it (tried.lua), or else the taker that finds no event.
local function drop_delivery(place, target, keep, ms)
  local hook, key, field = hook_of(target), tried_key(place), tried_field(place, target)
  local due, member = TEAM .. 'due:' .. hook, place .. string.sub(target, #hook + 1)
  local at, row = redis.pcall('ZSCORE', due, member), redis.pcall('HGET', key, field)
  local next = type(row) == 'string' and tonumber(string.match(row, '%d+$'))
  local under_way = type(at) == 'string' and tonumber(at) > tonumber(ms) and tonumber(at) ~= next
  redis.pcall('HDEL', key, field)
  if not under_way then lose(due, hook, member, keep) end
end

-- drop_old drops the oldest events: those whose life has ended, at most a hundred in a call, or else those beyond the most of an owner, and
-- what is kept of their deliveries. It returns how many were beyond the most.
local function drop_old(key, e, ms)
  local over, ended = 0, ms - e.keep - 1
  local list = ended > 0 and redis.call('XRANGE', key, '-', string.format('%d', ended), 'COUNT', 100) or {}
  if #list == 0 then
    over = math.max(redis.call('XLEN', key) - e.most, 0)
    if over == 0 then return 0 end
    list = redis.call('XRANGE', key, '-', '+', 'COUNT', math.min(over, 100))
    over = #list
  end
  for _, entry in ipairs(list) do
    for target in string.gmatch(entry[2][6], '[^\n]+') do drop_delivery(entry[1], target, e.keep, ms) end
    redis.call('XDEL', key, entry[1])
  end
  return over
end

-- write_event writes an event and its deliveries, and returns its place, and how many older events were dropped because there were too many.
local function write_event(e, now)
  if e.work then
    keep_work(e.work, math.floor(now / 1000))
    return '0-0', 0
  end
  local key, ms = TEAM .. 'events', string.format('%d', math.floor(now / 1000))
  local function add(place)
    return redis.call('XADD', key, place, 't', e.type, 'd', e.data, 'h', table.concat(e.to, '\n'))
  end
  local place = '*'
  if tonumber(ARGV[1]) > 0 then -- the time of a test, which may go back
    local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
    place = string.format('%d-*', math.max(ms, last and string.match(last[1], '^%d+') or 0))
  end
  place = add(place)
  local at, number = string.match(place, '^(%d+)-(%d+)$')
  if tonumber(number) > 65535 then -- an id has 16 bits for it; the clock went back, so Redis counts on in one millisecond
    redis.call('XDEL', key, place)
    place = add(string.format('%d-0', at + 1))
  end
  local dropped = drop_old(key, e, ms)
  redis.call('PEXPIRE', key, e.keep)
  for _, target in ipairs(e.to) do await(place, target, ms, e.keep) end
  return place, dropped
end
