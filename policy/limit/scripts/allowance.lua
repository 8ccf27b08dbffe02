-- Reports what a replica spent without Redis, and renews its allowances: in calm times and after an outage alike. All of it
-- may be sent again: sums count once by the number of their report, holds by their ids, and what is to be set aside is told
-- whole.
--
-- KEYS  1 quota  2 open  3 aside  4… hold:<id>, one for each request that still runs
-- ARGV  1 now or 0  2 a number to say again  3 the epoch known  4 the sequence number known  5 replica  6 number of the report
--       7 prefix of ledger keys  8 lease  9 replicas alive  10 since when Redis was reached without a gap, empty: not known
--       11–18 quotas, day and month of each unit, empty for none  19 open tasks, empty for none
--       20 number of allowances  21 number of sums
--       then of each allowance: day, month, what is to stay of it, by how much it may grow
--       then of each sum: day, month, model|endpoint, used, estimated
--       then of each request: id, lease, the hold's text
-- Returns the number, outcome (1 done, 2 the accounts known are gone), epoch, sequence number, now, open tasks, used day and
--       month of each unit, held likewise, and of each allowance five amounts by which it has grown.
local now, number = clock(ARGV[1]), tonumber(ARGV[2])
local replica, report, since = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[10])
local head = redis.call('HMGET', KEYS[1], 'epoch', 'seq', 'restoring')
local epoch, seq = head[1] or '0', tonumber(head[2] or 0)
if ARGV[3] ~= epoch or seq < tonumber(ARGV[4]) then return {number, 2, tonumber(epoch), now} end
redis.call('ZCARD', KEYS[2]) -- what is of another type is noticed before anything is written

local function five(text)
  local a, b, c, d, e = string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  return {tonumber(a), tonumber(b), tonumber(c), tonumber(d), tonumber(e)}
end

-- Replicas that do not come any more leave allowances behind. Where Redis was reached all the while since the last renewal
-- they spent nothing of it here; else they may have spent all of it.
lapse(KEYS[1], KEYS[3], now, since, replica)

local reported = tonumber(string.match(redis.call('HGET', KEYS[3], replica) or '', '^%d+') or 0)
local allowances, sums_, at = tonumber(ARGV[20]), tonumber(ARGV[21]), 22
local rows = {}
for n = 1, allowances do
  local row = {day = ARGV[at], field = replica .. ':' .. ARGV[at], keep = five(ARGV[at + 2]), want = five(ARGV[at + 3])}
  row.was = parse_aside(redis.call('HGET', KEYS[3], row.field))
  if row.was and row.was.state == 'charged' then -- it comes back after all, and tells the truth
    local none = {0, 0, 0, 0}
    for i = 1, 4 do none[i] = -row.was.amount[i] end
    post({day = row.day, month = ARGV[at + 1], what = 'allowance|other'}, none, none)
    row.was = nil
  end
  rows[n], at = row, at + 4
end
for _ = 1, sums_ do
  if report > reported then
    post({day = ARGV[at], month = ARGV[at + 1], what = ARGV[at + 2]}, four(ARGV[at + 3]), four(ARGV[at + 4]))
  end
  at = at + 5
end
for n = 4, #KEYS do
  if not redis.call('GET', KEYS[n]) then
    hold_again(parse(ARGV[at + 2]))
    redis.call('SET', KEYS[n], ARGV[at + 2])
    redis.call('ZADD', KEYS[2], string.format('%d', now + ARGV[at + 1]), ARGV[at])
  end
  at = at + 3
end
flush(KEYS[1], KEYS[2], ARGV[7])
if report > reported then redis.call('HSET', KEYS[3], replica, string.format('%d %d', report, now)) end

-- What is kept takes the place of what was set aside; then each may grow as far as there is room.
for _, row in ipairs(rows) do
  if row.was then move_aside(KEYS[1], row.day, row.was.amount, -1) end
  move_aside(KEYS[1], row.day, row.keep, 1)
end
local restoring = head[3] and tonumber(head[3]) > now
local reply = {}
for _, row in ipairs(rows) do
  local grown = {0, 0, 0, 0, 0}
  for i = 1, 5 do
    if row.want[i] > 0 and not restoring then
      local room = left(KEYS[1], row.day, i)
      grown[i] = math.max(0, math.min(row.want[i], room, math.floor((room + row.keep[i]) / 10 / ARGV[9]) - row.keep[i]))
    end
  end
  move_aside(KEYS[1], row.day, grown, 1)
  local some = 0
  for i = 1, 5 do
    row.keep[i] = row.keep[i] + grown[i]
    some = some + row.keep[i]
    reply[#reply + 1] = grown[i]
  end
  if some > 0 then
    redis.call('HSET', KEYS[3], row.field, aside_text('open', row.keep, now + ARGV[8], now))
  else
    redis.call('HDEL', KEYS[3], row.field)
  end
end
redis.call('EXPIRE', KEYS[3], 34560000)

local day, month = periods(now)
local fields = {'seq', 'tasks'}
for _, what in ipairs({':used', ':held'}) do
  for _, unit in ipairs(UNITS) do
    fields[#fields + 1], fields[#fields + 2] = day .. ':' .. unit .. what, month .. ':' .. unit .. what
  end
end
local told = redis.call('HMGET', KEYS[1], unpack(fields))
local all = {number, 1, tonumber(epoch), tonumber(told[1] or 0), now, tonumber(told[2] or 0)}
for i = 3, #fields do all[#all + 1] = tonumber(told[i] or 0) end
for _, n in ipairs(reply) do all[#all + 1] = n end
return all
