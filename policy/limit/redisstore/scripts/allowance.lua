-- Renews a replica's allowances, and holds the requests that it admitted without Redis and still run. It may be sent again: holds
-- count once by their ids, and what is set aside is reported as a whole. A call behind a later one of its replica changes nothing. Only
-- the rates may be taken from twice.
--
-- KEYS  1–3 rates  4 quota  5 open  6 aside  7… hold:<id>, one for each running request
-- ARGV  3 and 4 the epoch and sequence number known  5 replica  6 number of the call  7 prefix of ledger keys  8 lease  9 replicas
--       alive  10–17 quotas, day and month of each unit, or empty  18 open tasks, or empty  19 number of allowances  20–34 each rate
--       35 what was taken from the rates without Redis
--       then of each allowance: day, what remains set aside, by how much it may grow
--       then of each request: id, lease, the hold's text
-- Returns the team's state, and of each allowance five amounts by which it has grown.
local now, number = clock(ARGV[1]), tonumber(ARGV[2])
local replica, call = ARGV[5], tonumber(ARGV[6])
local head = redis.call('HMGET', KEYS[4], 'epoch', 'seq', 'restoring')
local epoch = head[1] or '0'
if accounts_lost(epoch, head[2], ARGV[3], ARGV[4]) then return {number, 2, tonumber(epoch), now} end
if call <= last_call(KEYS[6], replica) then return {number, 3, tonumber(epoch), now} end
redis.call('ZCARD', KEYS[5]) -- a key of the wrong type fails here, before anything is written
local waits = restoring(head[3], now)

local own, at = {}, 36
for n = 1, tonumber(ARGV[19]) do
  local day = ARGV[at]
  local row = {day = day, field = replica .. ':' .. day, amount = five(ARGV[at + 1]), want = five(ARGV[at + 2])}
  row.was = come_back(parse_aside(redis.call('HGET', KEYS[6], row.field)), day)
  own[n], at = row, at + 3
end
local placed = {}
for n = 7, #KEYS do
  if redis.call('EXISTS', KEYS[n]) == 0 then
    hold_again(parse(ARGV[at + 2]))
    placed[#placed + 1] = {KEYS[n], ARGV[at + 2], string.format('%d', now + ARGV[at + 1]), ARGV[at]}
  end
  at = at + 3
end
local buckets = {}
for i, n in ipairs(four(ARGV[35])) do
  if n > 0 and i < 4 and ARGV[15 + 5 * i] ~= '' then
    buckets[#buckets + 1] = bucket(KEYS[i], redis.call('GET', KEYS[i]), now, 15 + 5 * i)
    take(buckets[#buckets], n)
  end
end
flush(KEYS[4], KEYS[5], ARGV[7])
for _, b in ipairs(buckets) do store(b) end
for _, p in ipairs(placed) do
  redis.call('SET', p[1], p[2])
  redis.call('ZADD', KEYS[5], p[3], p[4])
end
redis.call('HINCRBY', KEYS[4], 'seq', 1)
record_call(KEYS[6], replica, call, now)
for _, row in ipairs(own) do move_aside(KEYS[4], row.day, row.was and row.was.amount or NOTHING, row.amount) end

-- room is by how much an allowance may grow in a unit, or in open tasks. The growth is bounded by what is left, by the replica's share
-- of a tenth of that, and by a tenth of it for all allowances together.
local function room(day, i, keep)
  local names, limits = {'tasks'}, {ARGV[18]}
  if i < 5 then names, limits = {day .. ':' .. UNITS[i], string.sub(day, 1, 6) .. ':' .. UNITS[i]}, {ARGV[8 + 2 * i], ARGV[9 + 2 * i]} end
  local most
  for p, name in ipairs(names) do
    if limits[p] ~= '' then
      local got = redis.call('HMGET', KEYS[4], i == 5 and name or name .. ':used', name .. ':held', name .. ':aside')
      local aside = tonumber(got[3] or 0)
      local left = limits[p] - (got[1] or 0) - (got[2] or 0)
      local free = math.min(left - aside, math.floor(left / 10) - aside, math.floor(left / 10 / ARGV[9]) - keep)
      most = math.min(most or free, free)
    end
  end
  return math.max(most or 0, 0)
end

local grown = {}
for _, row in ipairs(own) do
  local kept = row.amount
  row.amount = {}
  for i = 1, 5 do
    local more = 0
    if row.want[i] > 0 and not waits then more = math.min(row.want[i], room(row.day, i, kept[i])) end
    grown[#grown + 1], row.amount[i] = more, kept[i] + more
  end
  move_aside(KEYS[4], row.day, kept, row.amount)
  write_aside(KEYS[6], row, now, ARGV[8])
end
local reply = standing(number, KEYS[4], now)
for _, n in ipairs(grown) do reply[#reply + 1] = n end
for _, n in ipairs(counts) do reply[#reply + 1] = n end
return reply
