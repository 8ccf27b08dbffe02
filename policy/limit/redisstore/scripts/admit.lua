-- Admits requests of one team: each is admitted in all of its units, or refused and takes nothing. All are charged in the same units, and
-- decided one after another. Expired holds are charged first, by holds(): that is holds.lua as a function, because most admissions do not
-- need it.
--
-- Every request waits for this script, and Redis does nothing else meanwhile. So it reads and writes only what the requests are
-- charged in, most of it once for all of them, and the caller sends the names of fields and how long amounts take to refill.
--
-- KEYS  1 quota  2 open  then rate:<unit> for each rate that is charged, those of the narrowest scope first, then hold:<id> for each request
-- ARGV  3 and 4 the epoch and sequence number known, 0: none  5 the set of rates  6 for tasks the most open tasks or -1, else empty
--       7 1 in shadow mode  8 day  9 month  10 the beginning of the day  11 the allowance, <replica>:<day>, or empty
--       12 number of units  13 number of fields  14 number of rates
--       then for each unit its quotas of day and month or empty
--       then the fields of quota: of each unit what day and month hold, of each quota what is used and set aside
--       then for each rate " limit per burst", how long the whole bucket takes to refill, and how many ms to keep it
--       then for each request its lease, its hold's text after the month, how much of the allowance may be taken of each unit and of
--       tasks, as a text; for each unit the amount; and for each rate how long the amount takes to refill
--       then for each kind of scopes inside the team that has quotas its name, that of the scope or @ if it is in the hold's text, and
--       the quotas of day and month of each unit or empty: see inner.lua
-- Returns 1, epoch, now, and the state before: the sequence number, the open tasks, what day and month hold of each unit, what is used
--       of each quota; for each request its outcome (0 refused, 1 admitted, 3 would be refused but for shadow mode), the sequence number,
--       which is a new one if it was placed, the limit that refuses (from 1 the rates charged, then the tasks, then for each scope day
--       and month of each unit charged, 0 none), wait, how long each rate takes to be full, and for each scope inside the team 1 if it
--       counts under other, else 0, and what it used and holds of each quota. If anything was taken from the allowance, there follows for
--       each request what was taken of each unit and of tasks.
local call, format = redis.call, string.format
local now = clock()
local written = format('%d', now)
local due = call('ZRANGEBYSCORE', KEYS[2], '-inf', written, 'LIMIT', '0', '16')

local units, fields, rates = tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14])
local names = 15 + 2 * units
local terms = names + fields
local first, width, requests = terms + 3 * rates, 3 + units + rates, #KEYS - 2 - rates
local day, month = ARGV[8], ARGV[9]
if now < ARGV[10] + 0 or now >= ARGV[10] + DAY then -- by the caller's clock it is another day
  local then_ = day
  day, month = periods(now)
  for i = names, terms - 1 do
    local period, what = string.match(ARGV[i], '^(%d+)(.*)$')
    ARGV[i] = (period == then_ and day or month) .. what
  end
end
local function counted() return call('HMGET', KEYS[1], 'epoch', 'tasks', 'seq', 'restoring', unpack(ARGV, names, terms - 1)) end
local got = counted()
local kept = call('MGET', unpack(KEYS, 3))
local epoch = got[1] or '0'
if accounts_lost(epoch, got[3], ARGV[3], ARGV[4]) then return {NUMBER, 2, tonumber(epoch), now} end
if restoring(got[4], now) then return {NUMBER, 4, tonumber(epoch), now} end
if #due > 0 then -- not before: an older copy may have holds that are settled, or run longer
  holds(due)
  got = counted()
end

local seq, task, most, tasks, tasks_aside = tonumber(got[3] or 0), ARGV[6] ~= '', tonumber(ARGV[6]), tonumber(got[2] or 0), nil
for i = 5, fields + 4 do got[i] = tonumber(got[i] or 0) end
local reply = {NUMBER, 1, tonumber(epoch), now, seq, tasks, unpack(got, 5, 4 + 2 * units)}
local at_reply, used, place = 6 + 2 * units, {}, 2 * units + 5
for q = 1, 2 * units do
  if ARGV[14 + q] ~= '' then -- used has the index in got of the quota's use; the next one has what is set aside
    used[q], at_reply = place, at_reply + 1
    reply[at_reply] = got[place]
    place = place + 2
  end
end
-- The scopes of a request, the team's first. Of each, n has the numbers: its use of the quotas at the indices in used, and what it
-- holds after index held. Its quotas are in ARGV after index limits.
local rows = {{n = got, used = used, held = 4, limits = 14}}
local tats, changed, fulls = {}, {}, {}
for r = 1, rates do
  local at = terms + 3 * r - 3
  tats[r], changed[r], fulls[r] = now, false, tonumber(ARGV[at + 1])
  if kept[r] then tats[r], changed[r] = moment(KEYS[r + 2], kept[r], ARGV[at], fulls[r], now) end
end

local function named(i) return i > units and 'tasks' or string.match(ARGV[names + 2 * i - 2], ':(%a+)') end

local kinds, words = {}, {} -- of the scopes inside the team
for at = first + width * requests, #ARGV, 2 + 2 * units do
  for i = 1, units do words[i] = named(i) end
  kinds[#kinds + 1] = inner(ARGV[at], ARGV[at + 1], at + 1, string.match(KEYS[1], '^(.*:)quota$') .. 'use:', day, month, words)
end

-- of_team reports whether a rate is the team's, which is wider than all scopes inside it.
local function of_team(rate) return string.find(KEYS[rate + 2], ':rate:%a+$') end

-- stock reads a text of an allowance's amounts, by the names of units and tasks.
local function stock(text)
  local of, i = {}, 0
  for n in string.gmatch(text, '%d+') do
    i = i + 1
    of[UNITS[i] or 'tasks'] = tonumber(n)
  end
  return of
end

-- take takes from the caller's allowance what a limit lacks of unit i; units + 1 means tasks. taken is what one request takes.
local taken, left, state, rest
local function take(i, over, lent)
  if string.sub(ARGV[11], -8) ~= day then return false end
  local unit = named(i)
  if over > stock(lent)[unit] then return false end
  if not left then
    local text
    state, text, rest = string.match(call('HGET', TEAM .. 'aside', ARGV[11]) or '', '^(%a+) (' .. EACH .. ' %d+)( .*)$')
    left = stock(text or '')
  end
  if state ~= 'open' or over > left[unit] then return false end
  taken = taken or {}
  if over > (taken[i] or 0) then taken[i] = over end
  return true
end

local text = 'held 0 ' .. (task and '1' or '0') .. ' '
local placed, texts, ends, takes, took = {}, {}, {}, {}, {}
for n = 1, requests do
  local at, key = first + width * (n - 1), KEYS[2 + rates + n]
  local spans = at + 2 + units
  local again = kept[rates + n] or texts[key]
  local fault, wait = 0, 0
  taken = nil
  for r = 1, rates do
    local over = tats[r] + ARGV[spans + r] - fulls[r] - now
    if over > wait then fault, wait = r, over end
  end
  for k = 1, #kinds do rows[k + 1] = kinds[k].row(ARGV[at + 1]) end
  for k = #rows, 1, -1 do -- of equal waits the narrowest is named
    local row = rows[k]
    local numbers, used, held, limits = row.n, row.used, row.held, row.limits
    for i = 1, units do
      for period = 1, 2 do
        local q = 2 * i - 2 + period
        local place = used[q]
        if place then
          local limit, wanted = tonumber(ARGV[limits + q]), numbers[place] + ARGV[at + 2 + i]
          local over = wanted + numbers[held + q] + numbers[place + 1] - limit
          if over > 0 and not (k == 1 and take(i, over, ARGV[at + 2])) then
            local free = 5000000 -- only holds block it
            if wanted > limit then free = select(2 + period, periods(now)) end
            local wider = free == wait and k > 1 and fault <= rates and of_team(fault)
            if free > wait or wider then fault, wait = rates + 1 + 2 * units * (k - 1) + q, free end
          end
        end
      end
    end
  end
  if task and most ~= -1 then
    tasks_aside = tasks_aside or tonumber(call('HGET', KEYS[1], 'tasks:aside') or 0)
    local over = tasks + 1 + tasks_aside - most
    if over > 0 and not take(units + 1, over, ARGV[at + 2]) and wait < 5000000 then fault, wait = rates + 1, 5000000 end
  end
  if again then fault, wait = 0, 0 end
  if fault > 0 or again then taken = nil end

  local outcome = 1
  if fault > 0 then outcome = ARGV[7] == '1' and 3 or 0 end
  if outcome ~= 0 and not again then
    seq, placed[#placed + 1] = seq + 1, key
    texts[key] = text .. (outcome == 1 and ARGV[5] or '0') .. ' ' .. day .. ' ' .. month .. ARGV[at + 1]
    ends[#ends + 1] = format('%d', now + ARGV[at])
    ends[#ends + 1] = string.sub(key, #KEYS[1] + 1) -- the id: "hold:" is as long as "quota"
    for i = 1, units do
      local amount = ARGV[at + 2 + i]
      got[3 + 2 * i], got[4 + 2 * i] = got[3 + 2 * i] + amount, got[4 + 2 * i] + amount
      for k = 1, #kinds do kinds[k].place(rows[k + 1], i, amount) end
    end
    if task then tasks = tasks + 1 end
    for r = 1, outcome == 1 and rates or 0 do
      tats[r], changed[r] = math.min(tats[r] + ARGV[spans + r], now + 2 * fulls[r]), true
    end
    for i, amount in pairs(taken or {}) do
      takes[i], left[named(i)] = (takes[i] or 0) + amount, left[named(i)] - amount
      if i > units then tasks_aside = tasks_aside - amount end
      for q = 2 * i - 1, 2 * i do
        if used[q] then got[used[q] + 1] = got[used[q] + 1] - amount end
      end
    end
  end

  reply[at_reply + 1], reply[at_reply + 2], reply[at_reply + 3], reply[at_reply + 4] = outcome, seq, fault, wait
  at_reply = at_reply + 4
  for r = 1, rates do reply[at_reply + r] = tats[r] - now end
  at_reply, took[n] = at_reply + rates, taken or {}
  for k = 2, #rows do
    local row = rows[k]
    at_reply = at_reply + 1
    reply[at_reply] = row.other
    for q = 1, 2 * units do
      if row.used[q] then
        reply[at_reply + 1], reply[at_reply + 2] = row.n[row.used[q]], row.n[q]
        at_reply = at_reply + 2
      end
    end
  end
end

if epoch == '0' then
  reply[3] = now
  call('HSET', KEYS[1], 'epoch', written, 'team', string.match(KEYS[1], '{(.-)}'))
end
if #placed > 0 then
  local holding, n = {'seq', format('%d', seq)}, 2
  for i = 1, 2 * units do
    holding[n + 1], holding[n + 2] = ARGV[names + i - 1], format('%d', got[4 + i])
    n = n + 2
  end
  if task then holding[n + 1], holding[n + 2] = 'tasks', format('%d', tasks) end
  call('HSET', KEYS[1], unpack(holding))
  for _, key in ipairs(placed) do call('SET', key, texts[key]) end
  call('ZADD', KEYS[2], unpack(ends))
  for _, kind in ipairs(kinds) do kind.write() end
end
if next(takes) then
  for n = 1, requests do
    for i = 1, units + 1 do reply[at_reply + i] = took[n][i] or 0 end
    at_reply = at_reply + units + 1
  end
  for i, amount in pairs(takes) do
    if i > units then
      call('HINCRBY', KEYS[1], 'tasks:aside', format('%d', -amount))
    else
      for field = names + 2 * i - 2, names + 2 * i - 1 do
        call('HINCRBY', KEYS[1], string.match(ARGV[field], '^(.*):held$') .. ':aside', format('%d', -amount))
      end
    end
  end
  local text = {}
  for i, unit in ipairs(UNITS) do text[i] = format('%d', left[unit]) end
  call('HSET', TEAM .. 'aside', ARGV[11], 'open ' .. table.concat(text, ' ') .. format(' %d', left.tasks) .. rest)
end
for r = 1, rates do
  if changed[r] then
    local at = terms + 3 * r - 3
    call('SET', KEYS[r + 2], format('%d', tats[r]) .. ARGV[at], 'PX', ARGV[at + 2])
  end
end
return reply
