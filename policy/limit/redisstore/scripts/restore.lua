-- Restores what a replica knows of a team whose accounts are lost, because Redis lost its memory or went back to an older copy. Until
-- all live replicas have done so, for two seconds at most, the team is restoring: its requests are admitted only from allowances. A replica
-- that knows nothing receives the accounts, and creates them if there are none.
--
-- Use is the largest count that any replica reports, plus what was charged since. Holds are restored by their ids: existing ones stay, as
-- their replica knows them, even if they have expired meanwhile, and what any replica knows to be settled is not held, in whichever order
-- the replicas report.
--
-- An epoch is a time, later than any seen before: of two, the smaller is an older copy's.
--
-- A per cent of a quota that the restored use reaches counts as announced: the charge that passed it announced it, or a later look.
--
-- epoch and seq known  went_back if the caller knows that Redis did  loss, if the team has no accounts: 0 it is new, 1 they were lost,
-- 2 they were lost if none of its keys is left  replica, may be empty  alive is how many replicas are alive  call is its number  last of
-- the calls that restore  lease of allowances  used: name is a field without :used, n was used  scopes inside the team:
-- kind, day, name, used of each unit  told: quotas as in reached.lua
-- rows of allowances: day, keep is to be set aside  holds: id, due is when its lease ends, text; of a settled one due is 0, or -1 if no
-- replica will restore it
-- Returns the team's state.

-- tell_scopes notes in the fields |told what the copy has of a day's scopes: what replicas report beyond it is added. In |copy it stays as it
-- is when charges are taken back.
local function tell_scopes(key)
  local fields = redis.call('HGETALL', key)
  for i = 1, #fields, 2 do
    local name, n = fields[i], fields[i + 1]
    if string.find(name, '||%a+$') then redis.call('HSET', key, name .. '|told', n, name .. '|copy', n) end
  end
end

-- count_scopes does so if the copy is from before the first quota of such scopes.
local counted = {}
local function count_scopes(key, day)
  if counted[key] then return end
  counted[key] = true
  start(key, day)
  if redis.call('HSETNX', key, '@', 1) == 1 then tell_scopes(key) end
end

local now, known, replica = clock(), A.epoch, A.replica
redis.call('ZCARD', TEAM .. 'open')
redis.call('HLEN', TEAM .. 'firsts') -- a key of the wrong type fails here, before anything is written
local epoch = tonumber(redis.call('HGET', QUOTA, 'epoch') or nil)
local lost = epoch and epoch < known or not epoch and (known ~= 0 or A.loss == 1 or A.loss == 2 and redis.call('EXISTS', QUOTA) == 0)
if epoch and epoch == known then
  lost = A.went_back or accounts_lost(text(epoch), redis.call('HGET', QUOTA, 'seq'), text(known), A.seq)
  if not lost then return standing(now) end -- it was restored already
end
if lost and epoch then -- what replicas report beyond these counts is added
  local fields = redis.call('HGETALL', QUOTA)
  for i = 1, #fields, 2 do
    local name = string.match(fields[i], '^(%d+:%a+):used$')
    if name then redis.call('HSET', QUOTA, name .. ':told', fields[i + 1], name .. ':copy', fields[i + 1]) end
  end
  for d = 1, 31 * #INNER do
    local key = scope_key(INNER[math.ceil(d / 31)], string.format('%s%02d', select(2, periods(now)), (d - 1) % 31 + 1))
    if redis.call('HEXISTS', key, '@') == 1 then tell_scopes(key) end
  end
end
if lost or not epoch then
  epoch = string.format('%d', math.max(now, known + 1, (epoch or 0) + 1))
  redis.call('HSET', QUOTA, 'epoch', epoch, 'seq', '1', 'team', string.match(QUOTA, '{(.-)}'), 'restoring', lost and now + 2000000 or 0)
  redis.call('HDEL', QUOTA, 'posted', 'alive')
end

-- raise raises counts to the largest that were reported, plus what was charged since, and reports whether it raised any. fields are in turn
-- a field with the use and the field with what was reported of it.
local function raise(key, fields, reported)
  local got, write = redis.call('HMGET', key, unpack(fields)), {}
  for i, n in ipairs(reported) do
    local more = n - (got[2 * i] or 0)
    local copy = more > 0 and redis.call('HGET', key, string.sub(fields[2 * i], 1, -5) .. 'copy')
    if more > 0 and n > tonumber(copy or 0) then -- less may have been read in the copy, with charges that were taken back
      local at = #write
      write[at + 1], write[at + 2] = fields[2 * i - 1], string.format('%d', (got[2 * i - 1] or 0) + more)
      write[at + 3], write[at + 4] = fields[2 * i], string.format('%d', n)
    end
  end
  if not write[1] then return false end
  redis.call('HSET', key, unpack(write))
  return true
end

local late = {} -- days of which scopes were raised late
local function raise_scope(kind, day, name, reported)
  local key, fields = scope_key(kind, day), {}
  count_scopes(key, day)
  if known_name(key, name, kind == 'keys') ~= name then return end
  for i, unit in ipairs(UNITS) do
    local used = name .. '||' .. unit
    fields[2 * i - 1], fields[2 * i] = used, used .. '|told'
  end
  if raise(key, fields, reported) and is_late(day) then late[day] = true end
end

-- take_back opens a hold that expired in the older copy, because a replica that knew nothing came first. Until the restore is over nothing
-- else has expired since the epoch began: the charge is in what the copy is told to have, too.
local early = restoring(redis.call('HGET', QUOTA, 'restoring'), now)
local function take_back(key, hold)
  local charged, back, _, scopes = amounts_of(hold.charged), {}, scopes_of(hold)
  for i, n in ipairs(charged) do back[i] = -n end
  post(hold, back, hold.estimated == '1' and back or nothing())
  hold.state, hold.estimated, hold.charged = 'held', '0', written(nothing())
  hold_again(hold)
  changed[key] = hold -- renew writes it
  for i, n in ipairs(early and charged or {}) do
    for _, period in ipairs({hold.day, hold.month}) do count(QUOTA, period .. ':' .. UNITS[i] .. ':told', -n) end
    for kind, scope in pairs(scopes) do
      local inner = scope.counted and scope_key(kind, hold.day)
      if inner then
        count_scopes(inner, hold.day)
        count(inner, known_name(inner, scope.name, scope.own) .. '||' .. UNITS[i] .. '|told', -n)
      end
    end
  end
end
for _, h in ipairs(A.holds) do
  local key = TEAM .. 'hold:' .. h.id
  local hold = h.due > now and read(key)
  if hold and hold.state == 'expired' then take_back(key, hold) end
end

local months = {}
for _, c in ipairs(A.used) do
  raise(QUOTA, {c.name .. ':used', c.name .. ':told'}, {c.n})
  local period = string.match(c.name, '^%d+')
  local month = string.sub(period, 1, 6)
  months[month] = math.max(months[month] or 0, #period == 8 and tonumber(period) or 0)
end
for _, s in ipairs(A.scopes) do raise_scope(s.kind, s.day, s.name, s.used) end
for day in pairs(late) do note_late(day) end
local latest = replica ~= '' and A.call > last_call(replica)
local own, listed = {}, {}
for _, r in ipairs(latest and A.rows or {}) do
  local row = {day = r.day, field = replica .. ':' .. r.day, amount = r.keep}
  row.was = come_back(parse_aside(redis.call('HGET', ASIDE, row.field)), row.day)
  own[#own + 1] = row
  listed[row.day] = true
end
if latest then -- allowances that it has given back
  local rows = redis.call('HGETALL', ASIDE)
  for i = 1, #rows, 2 do
    local who, day = string.match(rows[i], '^(.*):(%d+)$')
    local row = who == replica and not listed[day] and parse_aside(rows[i + 1])
    if row then own[#own + 1] = {day = day, field = rows[i], amount = NOTHING, was = come_back(row, day)} end
  end
end
for _, h in ipairs(A.holds) do
  local key = TEAM .. 'hold:' .. h.id
  local hold = read(key)
  if h.due <= 0 then
    if hold and hold.state == 'held' then free(hold, amounts_of(hold.held)) end
    if not hold and h.due == 0 or hold and hold.state == 'held' then write(key, {state = 'settled'}, LATE) end
  elseif not hold then
    hold = parse(h.text)
    for kind, scope in pairs(select(2, scopes_of(hold))) do
      if scope.counted then count_scopes(scope_key(kind, hold.day), hold.day) end
    end
    hold_again(hold)
    redis.call('SET', key, h.text)
    redis.call('ZADD', TEAM .. 'open', string.format('%d', h.due), h.id)
  elseif hold.state == 'held' then -- the copy may be from before it was extended, or moved
    renew(key, hold, parse(h.text), h.due)
  end
end
flush()
for _, q in ipairs(A.told) do
  local n = tonumber(redis.call('HGET', QUOTA, q.field) or 0)
  for i = 1, #q.at, 2 do
    if n >= q.at[i + 1] then remember(q, q.at[i]) end
  end
end
redis.call('HINCRBY', QUOTA, 'seq', 1)
note_past()
for _, row in ipairs(own) do
  move_aside(row.day, row.was and row.was.amount or NOTHING, row.amount)
  write_aside(row, now, A.lease)
end
if latest then record_call(replica, A.call, now) end

-- The ledger of each month is raised to what was used, on the last day of it that was reported.
for month, last_day in pairs(months) do
  local missing = {}
  for i, unit in ipairs(UNITS) do missing[unit] = tonumber(redis.call('HGET', QUOTA, month .. ':' .. unit .. ':used') or 0) end
  for d = 1, 31 do
    local rows = redis.call('HGETALL', string.format('%s%s%02d', USE, month, d))
    for i = 1, #rows, 2 do
      local unit = string.match(rows[i], '|(%a+)$')
      if missing[unit] then missing[unit] = missing[unit] - rows[i + 1] end
    end
  end
  local today, running = periods(now)
  local day = last_day > 0 and string.format('%d', last_day) or month == running and today or month .. '28' -- a day that every month has
  local use = USE .. day
  for unit, n in pairs(missing) do
    if n > 0 then
      if is_late(day) then note_late(day) end
      redis.call('HSET', use, 'day', day)
      redis.call('EXPIRE', use, 34560000)
      redis.call('HINCRBY', use, 'restored|other|' .. unit, string.format('%d', n))
      redis.call('HINCRBY', use, 'restored|other|' .. unit .. '|estimated', string.format('%d', n))
    end
  end
end

-- The restore is over when as many replicas have reported as are alive. Those that knew nothing do not count.
local head = redis.call('HMGET', QUOTA, 'restoring', 'posted', 'alive')
if A.last and known ~= 0 and tonumber(head[1] or 0) > now then
  local posted, alive = head[2] or ' ', math.max(tonumber(head[3] or 0), A.alive)
  if not string.find(posted, ' ' .. replica .. ' ', 1, true) then posted = posted .. replica .. ' ' end
  if select(2, string.gsub(posted, '%S+', '')) >= alive or replica == '' then
    redis.call('HSET', QUOTA, 'restoring', '0')
  else
    redis.call('HSET', QUOTA, 'posted', posted, 'alive', alive)
  end
end
return standing(now)
