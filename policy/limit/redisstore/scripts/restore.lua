-- Restores what a replica knows of a team whose accounts are lost, because Redis lost its memory or went back to an older copy. Until
-- all live replicas have done so, for two seconds at most, the team is restoring: it is admitted from allowances alone. A replica that
-- knows nothing receives the accounts, and creates them if there are none.
--
-- Use is the largest count that any replica reports, plus what was charged since. Holds are restored by their ids: existing ones stay,
-- and what any replica knows to be settled is not held, in whichever order they report.
--
-- An epoch is a time, later than any seen before: of two, the smaller is an older copy's.
--
-- KEYS  1 quota  2 open  3 aside  4… hold:<id>
-- ARGV  3 and 4 the epoch known, or 0, and the sequence number  5 1 if the caller knows that Redis went back  6 if the team has no
--       accounts: 0 it is new, 1 they were lost, 2 they were lost if none of its keys is left  7 replica, may be empty  8 replicas alive
--       9 number of the call  10 prefix of ledger keys  11 1 for the last call that restores  12 lease of allowances
--       13 number of counts  14 number of allowances
--       then of each count: its field without :used, what was used; or <day>#<tag>, what it used of each unit as a text
--       then of each allowance: day, what is to be set aside
--       then of each hold: id, when its lease ends, its text; of a settled one 0, and -1 if no replica will restore it
-- Returns the team's state.
-- tell_tags notes what the copy has of a day's tags: from here on the largest reported count adds to that.
local function tell_tags(key)
  local tags = redis.call('HGETALL', key)
  for i = 1, #tags, 2 do
    if string.find(tags[i], '||%a+$') then redis.call('HSET', key, tags[i] .. '|told', tags[i + 1]) end
  end
end

-- count_tags does so where the copy is from before the first quota of each value.
local counted = {}
local function count_tags(key, day)
  if counted[key] then return end
  counted[key] = true
  start(key, day)
  if redis.call('HSETNX', key, '@', 1) == 1 then tell_tags(key) end
end

local now, number, known, replica = clock(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[7]
redis.call('ZCARD', KEYS[2]) -- a key of the wrong type fails here, before anything is written
local epoch = redis.call('HGET', KEYS[1], 'epoch')
local lost = epoch and tonumber(epoch) < tonumber(known) or not epoch and (known ~= '0' or ARGV[6] == '1' or ARGV[6] == '2' and redis.call('EXISTS', KEYS[1]) == 0)
if epoch and epoch == known then
  lost = ARGV[5] == '1' or accounts_lost(epoch, redis.call('HGET', KEYS[1], 'seq'), known, ARGV[4])
  if not lost then return standing(number, KEYS[1], now) end -- it was restored already
end
if lost and epoch then -- from here on the largest reported count adds to these
  local fields = redis.call('HGETALL', KEYS[1])
  for i = 1, #fields, 2 do
    local name = string.match(fields[i], '^(%d+:%a+):used$')
    if name then redis.call('HSET', KEYS[1], name .. ':told', fields[i + 1]) end
  end
  for d = 1, 31 do
    local key = string.format('%s%s%02d:tags', ARGV[10], select(2, periods(now)), d)
    if redis.call('HEXISTS', key, '@') == 1 then tell_tags(key) end
  end
end
if lost or not epoch then
  epoch = string.format('%d', math.max(now, known + 1, (epoch or 0) + 1))
  redis.call('HSET', KEYS[1], 'epoch', epoch, 'seq', '1', 'team', string.match(KEYS[1], '{(.-)}'), 'restoring', lost and now + 2000000 or 0)
  redis.call('HDEL', KEYS[1], 'posted', 'alive')
end

-- raise raises counts to the largest that were reported, plus what was charged since, and returns whether it raised any. fields are
-- those of what is used and of what was told, in turn.
local function raise(key, fields, reported)
  local got, write = redis.call('HMGET', key, unpack(fields)), {}
  for i, n in ipairs(reported) do
    local more = n - (got[2 * i] or 0)
    if more > 0 then
      local at = #write
      write[at + 1], write[at + 2] = fields[2 * i - 1], string.format('%d', (got[2 * i - 1] or 0) + more)
      write[at + 3], write[at + 4] = fields[2 * i], string.format('%d', n)
    end
  end
  if not write[1] then return false end
  redis.call('HSET', key, unpack(write))
  return true
end

local late = {} -- days of which tags were raised late
local function raise_tag(day, tag, reported)
  local key, fields = ARGV[10] .. day .. ':tags', {}
  count_tags(key, day)
  if known_tag(key, tag) ~= tag then return end
  for i, unit in ipairs(UNITS) do
    local used = tag .. '||' .. unit
    fields[2 * i - 1], fields[2 * i] = used, used .. '|told'
  end
  if raise(key, fields, reported) and is_late(day) then late[day] = true end
end

local at, months = 15, {}
for _ = 1, tonumber(ARGV[13]) do
  local name, reported = ARGV[at], ARGV[at + 1]
  local day, tag = string.match(name, '^(%d+)#(.*)$')
  if day then
    raise_tag(day, tag, four(reported))
  else
    raise(KEYS[1], {name .. ':used', name .. ':told'}, {tonumber(reported)})
    local period = string.match(name, '^%d+')
    months[string.sub(period, 1, 6)] = math.max(months[string.sub(period, 1, 6)] or 0, #period == 8 and tonumber(period) or 0)
  end
  at = at + 2
end
for day in pairs(late) do note_late(ARGV[10], day) end
local last = 0
if replica ~= '' then last = last_call(KEYS[3], replica) end
local own, listed = {}, {}
for n = 1, tonumber(ARGV[14]) do
  local row = {day = ARGV[at], field = replica .. ':' .. ARGV[at], amount = five(ARGV[at + 1])}
  if tonumber(ARGV[9]) > last then
    row.was = come_back(parse_aside(redis.call('HGET', KEYS[3], row.field)), row.day)
    own[#own + 1] = row
    listed[row.day] = true
  end
  at = at + 2
end
if tonumber(ARGV[9]) > last and replica ~= '' then -- allowances that it has given back
  local rows = redis.call('HGETALL', KEYS[3])
  for i = 1, #rows, 2 do
    local who, day = string.match(rows[i], '^(.*):(%d+)$')
    local row = who == replica and not listed[day] and parse_aside(rows[i + 1])
    if row then own[#own + 1] = {day = day, field = rows[i], amount = NOTHING, was = come_back(row, day)} end
  end
end
for n = 4, #KEYS do
  local id, due, hold = ARGV[at], tonumber(ARGV[at + 1]), read(KEYS[n])
  if due <= 0 then
    if hold and hold.state == 'held' then free(hold, four(hold.held)) end
    if not hold and due == 0 or hold and hold.state == 'held' then write(KEYS[n], {state = 'settled'}, LATE) end
  elseif not hold then
    hold = parse(ARGV[at + 2])
    if select(3, tagged(hold.what)) then count_tags(ARGV[10] .. hold.day .. ':tags', hold.day) end
    hold_again(hold)
    redis.call('SET', KEYS[n], ARGV[at + 2])
    redis.call('ZADD', KEYS[2], due, id)
  end
  at = at + 3
end
flush(KEYS[1], KEYS[2], ARGV[10])
redis.call('HINCRBY', KEYS[1], 'seq', 1)
for _, row in ipairs(own) do
  move_aside(KEYS[1], row.day, row.was and row.was.amount or NOTHING, row.amount)
  write_aside(KEYS[3], row, now, ARGV[12])
end
if replica ~= '' and tonumber(ARGV[9]) > last then record_call(KEYS[3], replica, tonumber(ARGV[9]), now) end

-- The ledger of each month is raised to what was used, on the last day of it that was reported.
for month, last_day in pairs(months) do
  local missing = {}
  for i, unit in ipairs(UNITS) do missing[unit] = tonumber(redis.call('HGET', KEYS[1], month .. ':' .. unit .. ':used') or 0) end
  for d = 1, 31 do
    local rows = redis.call('HGETALL', string.format('%s%s%02d', ARGV[10], month, d))
    for i = 1, #rows, 2 do
      local unit = string.match(rows[i], '|(%a+)$')
      if missing[unit] then missing[unit] = missing[unit] - rows[i + 1] end
    end
  end
  local today, running = periods(now)
  local day = last_day > 0 and string.format('%d', last_day) or month == running and today or month .. '28' -- which each month has
  local use = ARGV[10] .. day
  for unit, n in pairs(missing) do
    if n > 0 then
      if is_late(day) then note_late(ARGV[10], day) end
      redis.call('HSET', use, 'day', day)
      redis.call('EXPIRE', use, 34560000)
      redis.call('HINCRBY', use, 'restored|other|' .. unit, string.format('%d', n))
      redis.call('HINCRBY', use, 'restored|other|' .. unit .. '|estimated', string.format('%d', n))
    end
  end
end

-- The restore is over when as many replicas have reported as are alive; those that knew nothing do not count.
local head = redis.call('HMGET', KEYS[1], 'restoring', 'posted', 'alive')
if ARGV[11] == '1' and known ~= '0' and tonumber(head[1] or 0) > now then
  local posted, alive = head[2] or ' ', math.max(tonumber(head[3] or 0), tonumber(ARGV[8]))
  if not string.find(posted, ' ' .. replica .. ' ', 1, true) then posted = posted .. replica .. ' ' end
  if select(2, string.gsub(posted, '%S+', '')) >= alive or replica == '' then
    redis.call('HSET', KEYS[1], 'restoring', '0')
  else
    redis.call('HSET', KEYS[1], 'posted', posted, 'alive', alive)
  end
end
return standing(number, KEYS[1], now)
