-- Admits a request in all of its units at once, or refuses it and takes nothing. Holds whose lease has ended are charged
-- before, by holds(), which is holds.lua as a function: most admissions have no use for it.
--
-- KEYS  1–3 rate:requests, rate:tokens, rate:images  4 quota  5 open  6 hold:<id>
-- ARGV  1 now or 0  2 team  3 id, empty to read only  4 a number to say again, so that no other question's reply is taken
--       for this one's  5 lease  6 ms to keep the hold  7 1 for a task  8 model|endpoint  9 prefix of hold keys  10 prefix of
--       ledger keys  11 the epoch known, or 0  12 an epoch to begin  13 1 for a shadow, 2 to hold whatever stands in the way
--       14 the amounts as a text  15–18 the amounts  19, 20 the day and the month of an admission that was made elsewhere, or
--       empty  21 most open tasks or -1  22–36 each rate  37–44 the quotas, day and month of each unit, -1 for none; absent
--       where no quota is set
-- Returns the number, outcome, epoch, now, limit at fault, wait, open tasks, used day and month of each unit, held likewise,
--       and for each rate what is left and how long it takes to be full. Outcomes: 0 refused, 1 admitted, 2 the
--       accounts known are gone, 3 admitted as a shadow although it would be refused.
local now = clock(ARGV[1])
local id, number = ARGV[3], tonumber(ARGV[4])
local amount = {tonumber(ARGV[15]), tonumber(ARGV[16]), tonumber(ARGV[17]), tonumber(ARGV[18])}
local day, month, dayLeft, monthLeft = periods(now)
if ARGV[19] ~= '' then day, month = ARGV[19], ARGV[20] end

local due = redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now, 'LIMIT', 0, 16)
if #due > 0 then holds(KEYS[4], KEYS[5], ARGV[9], ARGV[10], due) end
local fields = {'epoch', 'tasks'}
for i = 1, 4 do
  local unit = UNITS[i]
  fields[4 * i - 1], fields[4 * i] = day .. ':' .. unit .. ':used', month .. ':' .. unit .. ':used'
  fields[4 * i + 1], fields[4 * i + 2] = day .. ':' .. unit .. ':held', month .. ':' .. unit .. ':held'
end
local quota = redis.call('HMGET', KEYS[4], unpack(fields))
local epoch = quota[1] or '0'
if ARGV[11] ~= '0' and ARGV[11] ~= epoch then return {number, 2, tonumber(epoch), now} end
if epoch == '0' and id ~= '' then
  epoch = ARGV[12]
  redis.call('HSET', KEYS[4], 'epoch', epoch, 'team', ARGV[2])
end

local tasks = tonumber(quota[2] or 0)
local used, held = {}, {} -- day and month of each unit
for i = 1, 4 do
  used[2 * i - 1], used[2 * i] = tonumber(quota[4 * i - 1] or 0), tonumber(quota[4 * i] or 0)
  held[2 * i - 1], held[2 * i] = tonumber(quota[4 * i + 1] or 0), tonumber(quota[4 * i + 2] or 0)
end

local kept = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3], KEYS[6])
local again = id ~= '' and kept[4]
local fault, wait = -1, 0
local buckets = {}
for i = 1, 3 do
  local b = bucket(KEYS[i], kept[i], now, 17 + 5 * i)
  buckets[i] = b or false
  if b and amount[i] > 0 and not again then
    local over = b.tat + span(b, amount[i]) - b.full - now
    if over > wait then fault, wait = i - 1, over end
  end
end
if ARGV[37] and not again then
  for i = 1, 8 do
    local n, limit = amount[math.ceil(i / 2)], ARGV[36 + i]
    if n > 0 and limit ~= '-1' and used[i] + held[i] + n > tonumber(limit) then
      local left = i % 2 == 1 and dayLeft or monthLeft
      if used[i] + n <= tonumber(limit) then left = 5000000 end -- only what is held stands in the way
      if left > wait then fault, wait = 2 + i, left end
    end
  end
end
if ARGV[7] == '1' and ARGV[21] ~= '-1' and tasks >= tonumber(ARGV[21]) and not again and wait < 5000000 then
  fault, wait = 11, 5000000
end

local outcome = 1
if fault >= 0 and ARGV[13] ~= '2' then outcome = ARGV[13] == '1' and 3 or 0 end
if id ~= '' and outcome ~= 0 and not again then
  local holding, n = {}, 0
  for i = 1, 4 do
    if amount[i] > 0 then
      local d, m = 2 * i - 1, 2 * i
      held[d], held[m] = held[d] + amount[i], held[m] + amount[i]
      holding[n + 1], holding[n + 2], holding[n + 3], holding[n + 4] = fields[4 * i + 1], whole(held[d]), fields[4 * i + 2], whole(held[m])
      n = n + 4
    end
    if outcome == 1 and buckets[i] and amount[i] > 0 then take(buckets[i], amount[i]) end
  end
  if ARGV[7] == '1' then
    tasks = tasks + 1
    holding[n + 1], holding[n + 2] = 'tasks', tasks
    n = n + 2
  end
  if n > 0 then redis.call('HSET', KEYS[4], unpack(holding)) end
  local text = 'held 0 ' .. ARGV[7] .. (outcome == 1 and ' 1 ' or ' 0 ') .. day .. ' ' .. month .. ' ' .. ARGV[14] .. ' 0 0 0 0 ' .. id ..
    ' ' .. ARGV[2] .. ' ' .. ARGV[8]
  redis.call('SET', KEYS[6], text, 'PX', ARGV[6])
  redis.call('ZADD', KEYS[5], now + tonumber(ARGV[5]), id)
end

local fill = {0, 0, 0, 0, 0, 0}
for i = 1, 3 do
  local b = buckets[i]
  if b then
    store(b)
    fill[2 * i - 1], fill[2 * i] = math.floor((b.full + now - b.tat) * b.limit / b.per), b.tat - now
  end
end
return {number, outcome, tonumber(epoch), now, fault, wait, tasks,
  used[1], used[2], used[3], used[4], used[5], used[6], used[7], used[8],
  held[1], held[2], held[3], held[4], held[5], held[6], held[7], held[8],
  fill[1], fill[2], fill[3], fill[4], fill[5], fill[6]}
