-- Admits requests of one team, each in all of its units at once, or refuses it and takes nothing. All are charged in the same units;
-- each is decided as if it came alone behind the one before. Expired holds are charged first, by holds(): that is holds.lua as a
-- function, because most admissions do not need it. Every request waits for this script, and Redis does nothing else meanwhile.
--
-- epoch and seq known  day, month, start of the day by the caller's clock  task if they create tasks  units that they are charged in
-- loan: the allowance, <replica>:<day>, or empty
-- terms: rates; takes, the set of them; quotas of day and month of each unit or -1; tags, the same for each value of the tag or absent;
-- tasks, the most open ones or -1; shadow
-- holds of requests: id, lease, text behind the month, lent is how much of the allowance may be taken, amounts
-- Returns 1, epoch, now, and how it was before: the sequence number, the open tasks, what day and month hold of each unit charged, what
--       is used of each of its quotas; for each request its outcome (0 refused, 1 admitted, 3 would be refused but for shadow mode), the
--       sequence number, which is a new one if it was placed, the limit that refuses by limit.Limit… or -1, wait, how long each rate
--       charged takes to be full, and for a team with quotas of its tag 1 if the value is one of the others, and what the value used and
--       holds of each quota. If anything was taken from the allowance, then for each request what was taken of each unit and of tasks.
local call, format = redis.call, string.format
local now = clock()
local due = call('ZRANGEBYSCORE', TEAM .. 'open', '-inf', format('%d', now), 'LIMIT', '0', '16')
if #due > 0 then holds(due) end

local N, terms, units, day, month = #UNITS, A.terms, A.units, A.day, A.month
if now < A.start or now >= A.start + DAY then day, month = periods(now) end -- by the caller's clock it is another day
local name, limits, counted, asked = {}, {}, {}, {'epoch', 'tasks', 'seq', 'restoring'}
local charged, of, none = {}, {}, {} -- of is the unit of a quota
for _, u in ipairs(units) do
  charged[u] = true
  for q = 2 * u - 1, 2 * u do
    name[q] = (q % 2 == 1 and day or month) .. ':' .. UNITS[u]
    asked[#asked + 1], counted[#counted + 1], of[q] = name[q] .. ':held', q, u
    if terms.quotas[q] ~= -1 then limits[q] = terms.quotas[q] end
  end
end
for _, q in ipairs(counted) do
  if limits[q] then asked[#asked + 1], asked[#asked + 2] = name[q] .. ':used', name[q] .. ':aside' end
end
local got, at = call('HMGET', QUOTA, unpack(asked)), 4
local epoch, seq, tasks = tonumber(got[1] or 0), tonumber(got[3] or 0), tonumber(got[2] or 0)
local refused = refusal(epoch, seq, got[4], now)
if refused then return refused end

local reply, used, held, aside, tasks_aside = {NUMBER, 1, epoch, now, seq, tasks}, {}, {}, {}, nil
for _, q in ipairs(counted) do
  at = at + 1
  held[q] = tonumber(got[at] or 0)
  reply[#reply + 1] = held[q]
end
for _, q in ipairs(counted) do
  if limits[q] then
    used[q], aside[q], at = tonumber(got[at + 1] or 0), tonumber(got[at + 2] or 0), at + 2
    reply[#reply + 1] = used[q]
  end
end
local buckets, keys = {}, {}
for _, rate in ipairs(terms.rates) do
  if charged[rate.unit] then buckets[#buckets + 1], keys[#keys + 1] = rate, rate_key(rate) end
end
local rates = #buckets
for _, h in ipairs(A.holds) do keys[#keys + 1] = TEAM .. 'hold:' .. h.id end
local kept = call('MGET', unpack(keys))
for r = 1, rates do buckets[r] = bucket(keys[r], kept[r], now, buckets[r]) end
local tags = terms.tags and by_tag(day, month, units, terms.tags)

-- lend takes from the caller's allowance what a limit lacks: of unit i; N + 1 stands for tasks. taken is what one request takes.
local taken, state, left, rest
local function lend(i, over, most)
  if not most or string.sub(A.loan, -8) ~= day or over > most[i] then return false end
  if not left then
    local numbers
    state, numbers, rest = string.match(call('HGET', TEAM .. 'aside', A.loan) or '', '^(%a+) (' .. EACH .. ' %d+)( .*)$')
    left = amounts_of(numbers or '')
  end
  if state ~= 'open' or over > left[i] then return false end
  taken = taken or {}
  if over > (taken[i] or 0) then taken[i] = over end
  return true
end

local placed, texts, ends, takes, took = {}, {}, {}, {}, {}
for n, h in ipairs(A.holds) do
  local key = keys[rates + n]
  local again = kept[rates + n] or texts[key]
  local fault, wait, amounts = -1, 0, h.amounts
  taken = nil
  for r = 1, rates do
    local b = buckets[r]
    b.span = span(b.rate, amounts[b.rate.unit])
    local over = b.tat + b.span - b.full - now
    if over > wait then fault, wait = b.rate.unit - 1, over end
  end
  for _, q in ipairs(counted) do
    if limits[q] then
      local wanted = used[q] + amounts[of[q]]
      local over = wanted + held[q] + aside[q] - limits[q]
      if over > 0 and not lend(of[q], over, h.lent) then
        local free = wanted > limits[q] and select(4 - q % 2, periods(now)) or 5000000 -- only what is held stands in the way
        if free > wait then fault, wait = N + q - 1, free end
      end
    end
  end
  local row, other
  if tags then row, other = tags.row(h.text) end
  for _, q in ipairs(row and counted or none) do
    local wanted = row.used[q] and row.used[q] + amounts[of[q]]
    if wanted and wanted + row.held[q] > terms.tags[q] then
      local free = wanted > terms.tags[q] and select(4 - q % 2, periods(now)) or 5000000
      if free > wait then fault, wait = 3 * N + q, free end
    end
  end
  if A.task and terms.tasks ~= -1 then
    tasks_aside = tasks_aside or tonumber(call('HGET', QUOTA, 'tasks:aside') or 0)
    local over = tasks + 1 + tasks_aside - terms.tasks
    if over > 0 and not lend(N + 1, over, h.lent) and wait < 5000000 then fault, wait = 3 * N, 5000000 end
  end
  if again then fault, wait = -1, 0 end
  if fault >= 0 or again then taken = nil end

  local outcome = 1
  if fault >= 0 then outcome = terms.shadow and 3 or 0 end
  if outcome ~= 0 and not again then
    seq, placed[#placed + 1] = seq + 1, key
    texts[key] = 'held 0 ' .. (A.task and '1 ' or '0 ') .. (outcome == 1 and terms.takes or 0) .. ' ' .. day .. ' ' .. month .. h.text
    ends[#ends + 1], ends[#ends + 2] = format('%d', now + h.lease), h.id
    for _, q in ipairs(counted) do held[q] = held[q] + amounts[of[q]] end
    for _, u in ipairs(row and units or none) do tags.place(row, u, amounts[u]) end
    if A.task then tasks = tasks + 1 end
    for r = 1, outcome == 1 and rates or 0 do move(buckets[r], buckets[r].span, 0) end
    for i, amount in pairs(taken or none) do
      takes[i], left[i] = (takes[i] or 0) + amount, left[i] - amount
      if i > N then tasks_aside = tasks_aside - amount end
      for q = 2 * i - 1, 2 * i do
        if aside[q] then aside[q] = aside[q] - amount end
      end
    end
  end

  local at = #reply
  reply[at + 1], reply[at + 2], reply[at + 3], reply[at + 4] = outcome, seq, fault, wait
  for r = 1, rates do reply[at + 4 + r] = buckets[r].tat - now end
  took[n] = taken or none
  if row then
    reply[#reply + 1] = other
    for _, q in ipairs(counted) do
      if row.used[q] then reply[#reply + 1], reply[#reply + 2] = row.used[q], row.held[q] end
    end
  end
end

if epoch == 0 then
  reply[3] = now
  call('HSET', QUOTA, 'epoch', format('%d', now), 'team', string.match(QUOTA, '{(.-)}'))
end
if #placed > 0 then
  local holding = {'seq', format('%d', seq)}
  for _, q in ipairs(counted) do holding[#holding + 1], holding[#holding + 2] = name[q] .. ':held', format('%d', held[q]) end
  if A.task then holding[#holding + 1], holding[#holding + 2] = 'tasks', format('%d', tasks) end
  call('HSET', QUOTA, unpack(holding))
  for _, key in ipairs(placed) do call('SET', key, texts[key]) end
  call('ZADD', TEAM .. 'open', unpack(ends))
  if tags then tags.write() end
end
if next(takes) then
  for n in ipairs(A.holds) do
    for i = 1, N + 1 do reply[#reply + 1] = took[n][i] or 0 end
  end
  for i, amount in pairs(takes) do
    if i > N then
      call('HINCRBY', QUOTA, 'tasks:aside', format('%d', -amount))
    else
      for q = 2 * i - 1, 2 * i do call('HINCRBY', QUOTA, name[q] .. ':aside', format('%d', -amount)) end
    end
  end
  call('HSET', TEAM .. 'aside', A.loan, 'open ' .. written(left) .. rest)
end
for _, b in ipairs(buckets) do store(b) end
return reply
