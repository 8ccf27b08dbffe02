-- Reports what a replica spent without Redis, and renews its allowances: in calm times and after an outage alike. All of it
-- may be sent again: sums count once by the number of their report, holds by their ids, and what is to be set aside is told
-- whole. A call that comes behind a later one of its replica changes nothing.
--
-- KEYS  1–3 rates  4 quota  5 open  6 aside  7… hold:<id>, one for each request that still runs
-- ARGV  1 now or 0  2 a number to say again  3 the epoch known  4 the sequence number known  5 replica  6 number of the report
--       7 number of the call  8 prefix of ledger keys  9 lease  10 replicas alive  11 since when Redis was reached without a
--       gap, empty: not known  12–19 quotas, day and month of each unit, empty for none  20 open tasks, empty for none
--       21 number of allowances  22 number of sums  23–37 each rate  38 what the report takes from the rates
--       then of each allowance: day, what is to stay of it, by how much it may grow
--       then of each sum: day, month, model|endpoint, used, estimated
--       then of each request: id, lease, the hold's text
-- Returns how the team stands, and of each allowance five amounts by which it has grown; or the number, and 2 where the
--       accounts known are gone, 3 where the call came too late, epoch, now.
local now, number = clock(ARGV[1]), tonumber(ARGV[2])
local replica, report, turn, since = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[11])
local head = redis.call('HMGET', KEYS[4], 'epoch', 'seq', 'restoring')
local epoch = head[1] or '0'
if gone(epoch, head[2], ARGV[3], ARGV[4]) then return {number, 2, tonumber(epoch), now} end
local reported, last = caller(KEYS[6], replica)
if turn <= last then return {number, 3, tonumber(epoch), now} end
redis.call('ZCARD', KEYS[5]) -- what is of another type is noticed before anything is written
local restoring = head[3] and tonumber(head[3]) > now

-- Replicas that do not come any more leave allowances behind. Where Redis was away for all since the last renewal they may have
-- spent it: it is charged. Else nobody knows: it stays set aside for as long as the truth may come.
local ends = {}
local rows = (since and not restoring) and redis.call('HGETALL', KEYS[6]) or {}
for i = 1, #rows, 2 do
  local field, text = rows[i], rows[i + 1]
  local who, day = string.match(field, '^(.*):(%d+)$')
  local row = who and who ~= replica and parse_aside(text)
  if row and row.state == 'open' and row.due <= now then
    local a = row.amount
    if row.renewed < since then
      row.state = 'charged'
      post({day = day, month = string.sub(day, 1, 6), what = 'allowance|other'}, a, a)
      ends[#ends + 1] = {day, a}
    else
      row.state = 'lapsed'
    end
    ends[#ends + 1] = {field, string.format('%s %d %d %d %d %d %d %d', row.state, a[1], a[2], a[3], a[4], a[5], now, row.renewed), true}
  elseif row and row.state ~= 'open' and row.due < now - LATE * 1000 then
    if row.state == 'lapsed' then ends[#ends + 1] = {day, row.amount} end
    ends[#ends + 1] = {field, nil, true}
  elseif not who and tonumber(string.match(text, '(%d+)$')) < now - 2 * LATE * 1000 then
    ends[#ends + 1] = {field, nil, true}
  end
end

local own, at = {}, 39
for n = 1, tonumber(ARGV[21]) do
  local day = ARGV[at]
  local row = {day = day, field = replica .. ':' .. day, amount = five(ARGV[at + 1]), want = five(ARGV[at + 2])}
  row.was = come_back(parse_aside(redis.call('HGET', KEYS[6], row.field)), day)
  own[n], at = row, at + 3
end
for _ = 1, tonumber(ARGV[22]) do
  if report > reported then
    post({day = ARGV[at], month = ARGV[at + 1], what = ARGV[at + 2]}, four(ARGV[at + 3]), four(ARGV[at + 4]))
  end
  at = at + 5
end
local placed = {}
for n = 7, #KEYS do
  if redis.call('EXISTS', KEYS[n]) == 0 then
    hold_again(parse(ARGV[at + 2]))
    placed[#placed + 1] = {KEYS[n], ARGV[at + 2], string.format('%d', now + ARGV[at + 1]), ARGV[at]}
  end
  at = at + 3
end
local rated, buckets = four(ARGV[38]), {}
for i = 1, 3 do
  if report > reported and rated[i] > 0 and ARGV[18 + 5 * i] ~= '' then
    buckets[#buckets + 1] = bucket(KEYS[i], redis.call('GET', KEYS[i]), now, 18 + 5 * i)
    take(buckets[#buckets], rated[i])
  end
end
flush(KEYS[4], KEYS[5], ARGV[8])
for _, b in ipairs(buckets) do store(b) end
for _, p in ipairs(placed) do
  redis.call('SET', p[1], p[2])
  redis.call('ZADD', KEYS[5], p[3], p[4])
end
for _, e in ipairs(ends) do
  if not e[3] then
    move_aside(KEYS[4], e[1], e[2], NOTHING)
  elseif e[2] then
    redis.call('HSET', KEYS[6], e[1], e[2])
  else
    redis.call('HDEL', KEYS[6], e[1])
  end
end
redis.call('HINCRBY', KEYS[4], 'seq', 1)
heard(KEYS[6], replica, math.max(report, reported), turn, now)
for _, row in ipairs(own) do move_aside(KEYS[4], row.day, row.was and row.was.amount or NOTHING, row.amount) end

-- room is by how much an allowance may grow in a unit, or in open tasks: no more than there is, and neither its share nor all
-- that is set aside past a tenth of what is left.
local function room(day, i, keep)
  local names, limits = {'tasks'}, {ARGV[20]}
  if i < 5 then names, limits = {day .. ':' .. UNITS[i], string.sub(day, 1, 6) .. ':' .. UNITS[i]}, {ARGV[10 + 2 * i], ARGV[11 + 2 * i]} end
  local most
  for p, name in ipairs(names) do
    if limits[p] ~= '' then
      local got = redis.call('HMGET', KEYS[4], i == 5 and name or name .. ':used', name .. ':held', name .. ':aside')
      local aside = tonumber(got[3] or 0)
      local left = limits[p] - (got[1] or 0) - (got[2] or 0)
      local free = math.min(left - aside, math.floor(left / 10) - aside, math.floor(left / 10 / ARGV[10]) - keep)
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
    if row.want[i] > 0 and not restoring then more = math.min(row.want[i], room(row.day, i, kept[i])) end
    grown[#grown + 1], row.amount[i] = more, kept[i] + more
  end
  move_aside(KEYS[4], row.day, kept, row.amount)
  keep_aside(KEYS[6], row, now, ARGV[9])
end
local reply = standing(number, KEYS[4], now)
for _, n in ipairs(grown) do reply[#reply + 1] = n end
for _, n in ipairs(counts) do reply[#reply + 1] = n end
return reply
