-- Admits a request in all of its units at once, or refuses it and takes nothing. Expired holds are charged first, by holds(): that
-- is holds.lua as a function, because most admissions do not need it.
--
-- Every request waits for this script, and Redis does nothing else meanwhile. So it reads and writes only what the request is
-- charged in, and the caller sends the names of fields and how long amounts take to refill.
--
-- KEYS  1 quota  2 open  3 hold:<id>  4… rate:<unit>, one for each rate that is charged
-- ARGV  3 and 4 the epoch and sequence number known, 0: none  5 lease  6 the set of rates  7 for a task the most open tasks or -1,
--       else empty  8 1 in shadow mode  9 id  10 the hold's text behind its month  11 day  12 month  13 the beginning of the day
--       14 the allowance, <replica>:<day>, or empty  15 how many tasks of it may be taken  16 number of units  17 number of fields
--       then for each unit its amount, its quotas of day and month or empty, and how much of the allowance may be taken
--       then the fields of quota: of each unit what day and month hold, of each quota what is used and set aside
--       then for each rate " limit per burst", how long the amount and the whole bucket take to refill, and how many ms to keep it
-- Returns the outcome (0 refused, 1 admitted, 3 would be refused but for shadow mode), epoch, now, sequence number, the limit that
--       refuses (from 0 the rates, from 3 day and month of each unit, 11 the tasks, -1 none), wait, how long each rate takes to be
--       full, the open tasks, the fields, and, if anything was, what was taken from the allowance of each unit and of tasks.
local call, format = redis.call, string.format
local now = clock(ARGV[1])
local written = format('%d', now)
local due = call('ZRANGEBYSCORE', KEYS[2], '-inf', written, 'LIMIT', '0', '16')
if #due > 0 then holds(KEYS[1], KEYS[2], due) end

local units, first, rates = tonumber(ARGV[16]), 18, #KEYS - 3
local names = first + 4 * units
local terms = names + ARGV[17]
local day, month = ARGV[11], ARGV[12]
if now < ARGV[13] + 0 or now >= ARGV[13] + DAY then -- by the caller's clock it is another day
  local then_ = day
  day, month = periods(now)
  for i = names, terms - 1 do
    local period, what = string.match(ARGV[i], '^(%d+)(.*)$')
    ARGV[i] = (period == then_ and day or month) .. what
  end
end
local got = call('HMGET', KEYS[1], 'epoch', 'tasks', 'seq', 'restoring', unpack(ARGV, names, terms - 1))
local kept = call('MGET', unpack(KEYS, 3))
local epoch, known, seq = got[1] or '0', ARGV[3], tonumber(got[3] or 0)
if accounts_lost(epoch, seq, known, ARGV[4]) then return {tonumber(ARGV[2]), 2, tonumber(epoch), now} end
if restoring(got[4], now) then return {tonumber(ARGV[2]), 4, tonumber(epoch), now} end

-- take takes from the caller's allowance what a limit lacks: of unit i; units + 1 stands for tasks.
local taken, amounts, state, rest
local function take(i, unit, over, most)
  if over > most or string.sub(ARGV[14], -8) ~= day then return false end
  if not amounts then
    local a, b, c, d, e
    state, a, b, c, d, e, rest = string.match(call('HGET', string.gsub(KEYS[1], 'quota$', 'aside'), ARGV[14]) or '', '^(%a+) (%d+) (%d+) (%d+) (%d+) (%d+)( .*)$')
    amounts = {requests = tonumber(a), tokens = tonumber(b), images = tonumber(c), spend = tonumber(d), tasks = tonumber(e)}
  end
  if state ~= 'open' or over > amounts[unit] then return false end
  taken = taken or {}
  if over > (taken[i] or 0) then taken[i] = over end
  return true
end

local again, task, tasks = kept[1], ARGV[7] ~= '', tonumber(got[2] or 0)
local fault, wait = -1, 0
local tats, changed = {now, now, now}, {false, false, false}
for r = 1, rates do
  local at = terms + 4 * r - 4
  local full, text = tonumber(ARGV[at + 2]), kept[r + 1]
  if text then tats[r], changed[r] = moment(KEYS[r + 3], text, ARGV[at], full, now) end
  local over = tats[r] + ARGV[at + 1] - full - now
  if over > wait then fault, wait = r - 1, over end
end
local used = 2 * units + 4
for i = 1, units do
  local at = first + 4 * i - 4
  for period = 1, 2 do
    local held, limit = tonumber(got[2 * i + period + 2] or 0), ARGV[at + period]
    got[2 * i + period + 2] = held
    if limit ~= '' then
      used, limit = used + 2, tonumber(limit)
      local n = (got[used - 1] or 0) + ARGV[at]
      local over = n + held + (got[used] or 0) - limit
      if over > 0 and not take(i, string.match(ARGV[names + used - 5], ':(%a+)'), over, ARGV[at + 3] + 0) then
        local left = 5000000 -- only what is held stands in the way
        if n > limit then left = select(2 + period, periods(now)) end
        if left > wait then fault, wait = 2 * i + period, left end
      end
    end
  end
end
if task and ARGV[7] ~= '-1' then
  local over = tasks + 1 + (call('HGET', KEYS[1], 'tasks:aside') or 0) - ARGV[7]
  if over > 0 and not take(units + 1, 'tasks', over, ARGV[15] + 0) and wait < 5000000 then fault, wait = 11, 5000000 end
end
if again then fault, wait = -1, 0 end
if fault >= 0 or again then taken = nil end

if epoch == '0' then
  epoch = written
  call('HSET', KEYS[1], 'epoch', epoch, 'team', string.match(KEYS[1], '{(.-)}'))
end
local outcome = 1
if fault >= 0 then outcome = ARGV[8] == '1' and 3 or 0 end
if outcome ~= 0 and not again then
  seq = seq + 1
  local holding, n = {'seq', format('%d', seq), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 2
  for i = 1, units do
    local amount, day_, month_ = ARGV[first + 4 * i - 4], 2 * i + 3, 2 * i + 4
    got[day_], got[month_] = got[day_] + amount, got[month_] + amount
    holding[n + 1], holding[n + 2] = ARGV[names + day_ - 5], format('%d', got[day_])
    holding[n + 3], holding[n + 4] = ARGV[names + month_ - 5], format('%d', got[month_])
    n = n + 4
  end
  if task then
    tasks, n = tasks + 1, n + 2
    holding[n - 1], holding[n] = 'tasks', tasks
  end
  call('HSET', KEYS[1], unpack(holding, 1, n))
  for r = 1, rates do
    if outcome == 1 then
      local at = terms + 4 * r - 4
      tats[r], changed[r] = math.min(tats[r] + ARGV[at + 1], now + 2 * ARGV[at + 2]), true
    end
  end
  call('SET', KEYS[3], 'held 0 ' .. (task and '1' or '0') .. ' ' .. (outcome == 1 and ARGV[6] or '0') .. ' ' .. day .. ' ' .. month .. ARGV[10])
  call('ZADD', KEYS[2], format('%d', now + ARGV[5]), ARGV[9])
  if taken then
    for i, amount in pairs(taken) do
      if i > units then
        amounts.tasks = amounts.tasks - amount
        call('HINCRBY', KEYS[1], 'tasks:aside', format('%d', -amount))
      else
        for period = 1, 2 do
          local name = string.match(ARGV[names + 2 * i + period - 3], '^(.*):held$')
          call('HINCRBY', KEYS[1], name .. ':aside', format('%d', -amount))
          if period == 1 then
            local unit = string.match(name, '%a+')
            amounts[unit] = amounts[unit] - amount
          end
        end
      end
    end
    local aside = string.gsub(KEYS[1], 'quota$', 'aside')
    call('HSET', aside, ARGV[14], format('open %d %d %d %d %d', amounts.requests, amounts.tokens, amounts.images, amounts.spend, amounts.tasks) .. rest)
  end
end

local reply, n = {tonumber(ARGV[2]), outcome, tonumber(epoch), now, seq, fault, wait, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil,
  nil, nil, nil, nil, nil}, 7
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
for i = 5, ARGV[17] + 4 do
  n = n + 1
  reply[n] = tonumber(got[i] or 0)
end
if taken then
  for i = 1, units + 1 do reply[n + i] = taken[i] or 0 end
end
return reply
