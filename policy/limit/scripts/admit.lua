-- Admits a request in all of its units at once, or refuses it and takes nothing.
--
-- KEYS  1–3 rate:requests, rate:tokens, rate:images  4 quota  5 open  6 hold:<id>
-- ARGV  1 now or 0  2 team  3 id, empty to read only  4 lease  5 1 for a task  6 1 for a shadow, 2 to hold whatever stands in the way  7 most open tasks or -1
--       8 model|endpoint  9 prefix of hold keys  10 prefix of ledger keys  11 the epoch known, or empty  12 an epoch to begin
--       13–16 amounts  17–25 limit, per, burst of each rate (limit 0: none)  26–33 quotas, day and month of each unit (-1: none)
-- Returns outcome, id, epoch, now, limit at fault, wait, open tasks, used day and month of each unit, held likewise,
--       and for each rate what is left and how long it takes to be full. Outcomes: 0 refused, 1 admitted, 2 the
--       accounts known are gone, 3 admitted as a shadow although it would be refused.
local now = clock(ARGV[1])
local id, known = ARGV[3], ARGV[11]
local amount = amounts(13)
local day, month, dayLeft, monthLeft = periods(now)

local fields = {'epoch', 'tasks'}
for i = 1, 4 do
  for _, period in ipairs({day, month}) do
    fields[#fields + 1] = period .. ':' .. UNITS[i] .. ':used'
    fields[#fields + 1] = period .. ':' .. UNITS[i] .. ':held'
  end
end
sweep(KEYS[4], KEYS[5], ARGV[9], ARGV[10], now, 16)
local quota = redis.call('HMGET', KEYS[4], unpack(fields))
local epoch = quota[1]
if known ~= '' and known ~= epoch then return {2, id, epoch or '', now} end
if not epoch then
  epoch = ''
  if id ~= '' then
    epoch = ARGV[12]
    redis.call('HSET', KEYS[4], 'epoch', epoch, 'team', ARGV[2])
  end
end

local tasks = tonumber(quota[2] or 0)
local used, held = {}, {}
for i = 1, 8 do
  used[i], held[i] = tonumber(quota[2 * i + 1] or 0), tonumber(quota[2 * i + 2] or 0)
end

local again = id ~= '' and redis.call('EXISTS', KEYS[6]) == 1
local fault, wait = -1, 0
local function blame(limit, span)
  if fault == -1 or span > wait then fault, wait = limit, span end
end
local buckets = {}
for i = 1, 3 do
  local b = bucket(KEYS[i], now, 14 + 3 * i)
  buckets[i] = b or false
  if b and amount[i] > 0 and not again then
    local over = b.tat + b.span(amount[i]) - b.full - now
    if over > 0 then blame(i - 1, over) end
  end
end
for i = 1, 8 do
  local n, limit = amount[math.floor((i + 1) / 2)], tonumber(ARGV[25 + i])
  if limit >= 0 and n > 0 and not again and used[i] + held[i] + n > limit then
    local span = i % 2 == 1 and dayLeft or monthLeft
    if used[i] + n <= limit then span = 5000000 end -- only what is held stands in the way
    blame(2 + i, span)
  end
end
local mostTasks = tonumber(ARGV[7])
if ARGV[5] == '1' and mostTasks >= 0 and tasks >= mostTasks and not again then blame(11, 5000000) end

local outcome = 1
if fault >= 0 and ARGV[6] ~= '2' then outcome = ARGV[6] == '1' and 3 or 0 end
if id ~= '' and outcome ~= 0 and not again then
  local fields = {'state', 'held', 'team', ARGV[2], 'id', id, 'day', day, 'month', month, 'what', ARGV[8],
    'task', ARGV[5], 'rates', outcome == 1 and '1' or '0'}
  local holding = {}
  for i = 1, 4 do
    fields[#fields + 1] = 'h' .. i
    fields[#fields + 1] = int(amount[i])
    if amount[i] > 0 then
      for p, period in ipairs({day, month}) do
        local at = 2 * i - 2 + p
        held[at] = held[at] + amount[i]
        holding[#holding + 1] = period .. ':' .. UNITS[i] .. ':held'
        holding[#holding + 1] = int(held[at])
      end
    end
    if outcome == 1 and buckets[i] and amount[i] > 0 then take(buckets[i], amount[i]) end
  end
  if ARGV[5] == '1' then
    tasks = tasks + 1
    holding[#holding + 1] = 'tasks'
    holding[#holding + 1] = int(tasks)
  end
  if #holding > 0 then redis.call('HSET', KEYS[4], unpack(holding)) end
  local lease = tonumber(ARGV[4])
  redis.call('HSET', KEYS[6], unpack(fields))
  redis.call('PEXPIRE', KEYS[6], int(math.ceil(lease / 1000) + 86400000))
  redis.call('ZADD', KEYS[5], int(now + lease), id)
end

local reply = {outcome, id, epoch, now, fault, wait, tasks}
for i = 1, 8 do reply[#reply + 1] = used[i] end
for i = 1, 8 do reply[#reply + 1] = held[i] end
for i = 1, 3 do
  local b = buckets[i]
  if b then
    store(b)
    reply[#reply + 1] = math.floor((b.full + now - b.tat) * b.limit / b.per)
    reply[#reply + 1] = b.tat - now
  else
    reply[#reply + 1] = 0
    reply[#reply + 1] = 0
  end
end
return reply
