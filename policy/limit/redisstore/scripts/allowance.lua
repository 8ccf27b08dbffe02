-- Renews a replica's allowances, and places holds for the requests that it admitted without Redis and that still run. It may be sent
-- again: holds count once by their ids, and what is set aside is reported as a whole. A call that arrives after a later one of its
-- replica changes nothing. Only the rates may be taken from twice.
--
-- epoch and seq known  replica  call is its number  lease  alive is how many replicas are alive  terms: quotas, tasks, and with raises
-- base, the quotas without them
-- rated: rates from which n was taken without Redis  rows of allowances: day, keep remains set aside, want is by how much it may grow
-- holds of requests: id, lease, text
-- Returns the team's state, and of each allowance the amounts by which it has grown.
local now, replica, terms = clock(), A.replica, A.terms
local head = redis.call('HMGET', QUOTA, 'epoch', 'seq', 'restoring')
local refused = refusal(head[1], head[2], nil, now)
if refused then return refused end
if A.call <= last_call(replica) then return {NUMBER, 3, tonumber(head[1] or 0), now} end
redis.call('ZCARD', TEAM .. 'open') -- a key of the wrong type fails here, before anything is written
local waits = restoring(head[3], now)

local own, placed, buckets = {}, {}, {}
for n, r in ipairs(A.rows) do
  local row = {day = r.day, field = replica .. ':' .. r.day, amount = r.keep, want = r.want}
  row.was = come_back(parse_aside(redis.call('HGET', ASIDE, row.field)), row.day)
  own[n] = row
end
for _, h in ipairs(A.holds) do
  local key = TEAM .. 'hold:' .. h.id
  local hold = redis.call('EXISTS', key) == 1 and read(key)
  if hold and hold.state == 'held' then -- an earlier call placed it, whose reply was lost: it may have moved since
    renew(key, hold, parse(h.text), now + h.lease)
  elseif hold == false then
    hold_again(parse(h.text))
    placed[#placed + 1] = h
  end
end
for _, rate in ipairs(A.rated) do
  local b = rated(rate, now)
  take(b, rate.n)
  buckets[#buckets + 1] = b
end
flush()
for _, b in ipairs(buckets) do store(b) end
for _, h in ipairs(placed) do
  redis.call('SET', TEAM .. 'hold:' .. h.id, h.text)
  redis.call('ZADD', TEAM .. 'open', string.format('%d', now + h.lease), h.id)
end
redis.call('HINCRBY', QUOTA, 'seq', 1)
record_call(replica, A.call, now)
for _, row in ipairs(own) do move_aside(row.day, row.was and row.was.amount or NOTHING, row.amount) end

-- limit_of is a quota, whose raises count only in the period that runs.
local today, this_month = periods(now)
-- limit_of is a quota. Its raises count only in the running period.
local function limit_of(q, runs)
  if terms.base and not runs then return terms.base[q] end
  return terms.quotas[q]
end

-- room is by how much an allowance may grow in a unit, or in open tasks. The growth is bounded by what is left, by the replica's share
-- of a tenth of what is left, and by that tenth for all allowances together.
local function room(day, i, keep)
  local names, limits = {'tasks'}, {terms.tasks}
  if i < TASKS then
    local month = string.sub(day, 1, 6)
    names, limits = {day .. ':' .. UNITS[i], month .. ':' .. UNITS[i]}, {limit_of(2 * i - 1, day == today), limit_of(2 * i, month == this_month)}
  end
  local most
  for p, name in ipairs(names) do
    if limits[p] ~= -1 then
      local got = redis.call('HMGET', QUOTA, i == TASKS and name or name .. ':used', name .. ':held', name .. ':aside')
      local aside = tonumber(got[3] or 0)
      local left = limits[p] - (got[1] or 0) - (got[2] or 0)
      local free = math.min(left - aside, math.floor(left / 10) - aside, math.floor(left / 10 / A.alive) - keep)
      most = math.min(most or free, free)
    end
  end
  return math.max(most or 0, 0)
end

local grown = {}
for _, row in ipairs(own) do
  local kept = row.amount
  row.amount = {}
  for i = 1, TASKS do
    local more = 0
    if row.want[i] > 0 and not waits then more = math.min(row.want[i], room(row.day, i, kept[i])) end
    grown[#grown + 1], row.amount[i] = more, kept[i] + more
  end
  move_aside(row.day, kept, row.amount)
  write_aside(row, now, A.lease)
end
local reply = standing(now)
for _, n in ipairs(grown) do reply[#reply + 1] = n end
for _, n in ipairs(counts) do reply[#reply + 1] = n end
return reply
