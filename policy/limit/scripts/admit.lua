-- Admits a request in all of its units at once, or refuses it and takes nothing. Holds whose lease has ended are charged
-- before, by holds(), which is holds.lua as a function: most admissions have no use for it.
--
-- Every request waits for this script, and Redis does nothing else meanwhile. So it reads and writes only what the request
-- is charged in, and takes from its caller what the caller knows: the names of fields, and how long amounts take to refill.
--
-- KEYS  1 quota  2 open  3 hold:<id>  4… rate:<unit>, one for each rate that is charged
-- ARGV  1 now or 0  2 a number to say again, so that no other question's reply is taken for this one's  3 the epoch known, or
--       below 0 one to begin  4 lease  5 the rates that it takes from  6 most open tasks or -1 for a task, else empty  7 1 for a shadow,
--       2 to hold whatever stands in the way  8 id  9 the hold's text behind its month  10 day  11 month  12 the moment that
--       day begins; empty: it was admitted elsewhere, on that day
--       13 number of units charged  14 number of fields
--       then for each unit its amount, and its quotas of day and month, empty for none
--       then the fields of quota: what day and month hold of each unit charged, what was used of each quota
--       in the order above, and what else is to be told
--       then for each rate " limit per burst", how long the amount takes to refill, how long all of it takes, and how many
--       milliseconds are enough for all that the bucket can owe
-- Returns the number, outcome, epoch, now, the limit at fault (from 0 the rates, from 3 the quotas, day and month of each unit
--       charged, 11 the tasks, -1 none), wait, how long each rate takes to be full, the open tasks, and the fields. Outcomes:
--       0 refused, 1 admitted, 2 the accounts known are gone, 3 admitted as a shadow although it would be refused.
local call, format = redis.call, string.format
local now = clock(ARGV[1])
local written = format('%d', now)
local due = call('ZRANGEBYSCORE', KEYS[2], '-inf', written, 'LIMIT', '0', '16')
if #due > 0 then holds(KEYS[1], KEYS[2], due) end

local units, first, rates = tonumber(ARGV[13]), 15, #KEYS - 3
local names = first + 3 * units
local terms = names + ARGV[14]
local day, month = ARGV[10], ARGV[11]
if ARGV[12] ~= '' and (now < ARGV[12] + 0 or now >= ARGV[12] + DAY) then -- the caller's clock is of another day
  local then_ = day
  day, month = periods(now)
  for i = names, terms - 1 do
    local period, what = string.match(ARGV[i], '^(%d+)(.*)$')
    ARGV[i] = (period == then_ and day or month) .. what
  end
end
local got = call('HMGET', KEYS[1], 'epoch', 'tasks', unpack(ARGV, names, terms - 1))
local kept = call('MGET', unpack(KEYS, 3))
local epoch, known = got[1] or '0', ARGV[3]
if known ~= epoch and known + 0 > 0 then return {tonumber(ARGV[2]), 2, tonumber(epoch), now} end

local again, task, tasks = kept[1], ARGV[6] ~= '', tonumber(got[2] or 0)
local fault, wait = -1, 0
local tats, changed = {now, now, now}, {false, false, false}
for r = 1, rates do
  local at = terms + 4 * r - 4
  local full, text = tonumber(ARGV[at + 2]), kept[r + 1]
  if text then tats[r], changed[r] = moment(KEYS[r + 3], text, ARGV[at], full, now) end
  local over = tats[r] + ARGV[at + 1] - full - now
  if over > wait then fault, wait = r - 1, over end
end
local used = 2 * units + 2
for i = 1, units do
  local at = first + 3 * i - 3
  for period = 1, 2 do
    local held, limit = tonumber(got[2 * i + period] or 0), ARGV[at + period]
    got[2 * i + period] = held
    if limit ~= '' then
      used, limit = used + 1, tonumber(limit)
      local n = (got[used] or 0) + ARGV[at]
      if n + held > limit then
        local left = 5000000 -- only what is held stands in the way
        if n > limit then left = select(2 + period, periods(now)) end
        if left > wait then fault, wait = 2 * i + period, left end
      end
    end
  end
end
if task and ARGV[6] ~= '-1' and tasks >= tonumber(ARGV[6]) and wait < 5000000 then fault, wait = 11, 5000000 end
if again then fault, wait = -1, 0 end

if epoch == '0' then
  epoch = string.sub(known, 2)
  call('HSET', KEYS[1], 'epoch', epoch, 'team', string.match(KEYS[1], '{(.-)}'))
end
local outcome = 1
if fault >= 0 and ARGV[7] ~= '2' then outcome = ARGV[7] == '1' and 3 or 0 end
if outcome ~= 0 and not again then
  local holding, n = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0
  for i = 1, units do
    local amount, day_, month_ = ARGV[first + 3 * i - 3], 2 * i + 1, 2 * i + 2
    got[day_], got[month_] = got[day_] + amount, got[month_] + amount
    holding[n + 1], holding[n + 2] = ARGV[names + day_ - 3], format('%d', got[day_])
    holding[n + 3], holding[n + 4] = ARGV[names + month_ - 3], format('%d', got[month_])
    n = n + 4
  end
  if task then
    tasks, n = tasks + 1, n + 2
    holding[n - 1], holding[n] = 'tasks', tasks
  end
  if n > 0 then call('HSET', KEYS[1], unpack(holding, 1, n)) end
  for r = 1, rates do
    if outcome == 1 then
      local at = terms + 4 * r - 4
      tats[r], changed[r] = math.min(tats[r] + ARGV[at + 1], now + 2 * ARGV[at + 2]), true
    end
  end
  call('SET', KEYS[3], 'held 0 ' .. (task and '1' or '0') .. ' ' .. (outcome == 1 and ARGV[5] or '0') .. ' ' .. day .. ' ' .. month .. ARGV[9])
  call('ZADD', KEYS[2], format('%d', now + ARGV[4]), ARGV[8])
end

local reply, n = {tonumber(ARGV[2]), outcome, tonumber(epoch), now, fault, wait, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil,
  nil, nil, nil, nil, nil}, 6
for r = 1, rates do
  if changed[r] then
    local at = terms + 4 * r - 4
    call('SET', KEYS[r + 3], format('%d', tats[r]) .. ARGV[at], 'PX', ARGV[at + 3])
  end
  n = n + 1
  reply[n] = tats[r] - now
end
n = n + 1
reply[n] = tasks
for i = 3, ARGV[14] + 2 do
  n = n + 1
  reply[n] = tonumber(got[i] or 0)
end
return reply
