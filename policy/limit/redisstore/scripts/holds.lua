-- Holds.
--
-- A hold is one text of these words:
--   its state, held or expired
--   1 if its charge is estimated, and 1 for a task
--   the set of rates that it was taken from: 1 for the first unit, 2 for the second, 4 for the third, added up; those of the scopes inside
--   the team follow, see INNER. A reload may add rates, from which it was not taken.
--   its day and month, because it may end in later ones
--   what it holds, and what it was charged, of each unit
--   id
--   team, with @account if that is not main, and /key if it has a key, or /@key if quotas of the key count it
--   model|endpoint, with #tag if it has a tag, or #@tag if quotas of each value of the tag count it, even without a value
-- The text of a settled hold is SETTLED, unless it is noted.
--
-- An open hold has no TTL: if its text expired, what it holds would stay held. After its end it has one.
local HOLD = '^(%a+) (%d) (%d) (%d+) (%d+) (%d+) (' .. EACH .. ') (' .. EACH .. ') (%S+) (%S+) (.*)$'

-- Changes are written at the end of a script, after the type of every key has been checked: nothing is half done. read returns a
-- changed hold as changed.
local changed, writes = {}, {}

-- LATE is how many milliseconds an expired hold is kept for its true use, and a settled task for another replica: 49 hours.
local LATE = 176400000

-- text_of is the text of a held or expired hold.
local function text_of(hold)
  return hold.state .. ' ' .. hold.estimated .. ' ' .. hold.task .. ' ' .. hold.rates .. ' ' .. hold.day .. ' ' .. hold.month ..
    ' ' .. hold.held .. ' ' .. hold.charged .. ' ' .. hold.id .. ' ' .. hold.team .. ' ' .. hold.what
end

-- write writes a hold after its end, to be kept for ms milliseconds.
local function write(key, hold, ms)
  changed[key] = hold
  writes[#writes + 1] = {key, hold.state == 'settled' and SETTLED or text_of(hold), 'PX', ms}
end

-- parse reads the text of a held or expired hold; nil: it cannot be read.
local function parse(text)
  local state, estimated, task, rates, day, month, held, charged, id, team, what = string.match(text, HOLD)
  if not state then return nil end
  return {state = state, estimated = estimated, task = task, rates = rates, day = day, month = month, held = held, charged = charged,
    id = id, team = team, what = what}
end

-- minutes are the notes of settled holds that were read.
local minutes = {}

-- was_noted reports whether a hold that has no key is noted as settled.
local function was_noted(id)
  local minute, note = noted(id)
  minutes[minute] = minutes[minute] or redis.call('GET', minute) or ''
  return string.find(minutes[minute], note, 1, true)
end

-- read returns a hold; nil: it is absent or cannot be read.
local function read(key)
  if changed[key] then return changed[key] end
  local text = redis.call('GET', key)
  if not text and not was_noted(string.sub(key, #QUOTA + 1)) then return nil end -- "hold:" is as long as "quota"
  if not text or text == SETTLED then return {state = 'settled'} end
  return parse(text)
end

-- Changes are added up by day and entry of the ledger, because several holds often change the same counts.
local sums, over, tasks = {}, {}, 0

local function sum(hold)
  local name = hold.day .. ' ' .. (hold.team or '') .. ' ' .. hold.what
  local s = sums[name]
  if not s then
    s = {day = hold.day, month = hold.month, team = hold.team, what = hold.what, held = nothing(), used = nothing(), doubt = nothing(), kinds = {}}
    sums[name] = s
  end
  return s
end

-- taken reports whether a hold was taken from a rate, by its bit from 1.
local function taken(hold, i) return math.floor(hold.rates / 2 ^ (i - 1)) % 2 == 1 end

local function add(list, i, n) list[i] = list[i] + n end

-- free takes a hold's amounts out of what its day and month hold.
local function free(hold, amount)
  local s = sum(hold)
  for i, n in ipairs(amount) do add(s.held, i, -n) end
  if hold.task == '1' then tasks = tasks - 1 end
  over[#over + 1] = hold.id
end

-- hold_again adds a hold's amounts to what its day and month hold.
local function hold_again(hold)
  local s = sum(hold)
  for i, n in ipairs(amounts_of(hold.held)) do add(s.held, i, n) end
  if hold.task == '1' then tasks = tasks + 1 end
end

-- post adds amounts to what a hold's day and month used and to the ledger of the day; doubt is the estimated part of them. A correction
-- may be negative. kinds is the hold's whole use by kind, packed; nil: unknown.
local function post(hold, amount, doubt, kinds)
  local s = sum(hold)
  for i in ipairs(UNITS) do
    add(s.used, i, amount[i])
    add(s.doubt, i, doubt[i])
  end
  if kinds and kinds ~= '' then s.kinds[#s.kinds + 1] = kinds end
end

local USE = TEAM .. 'use:' -- and a day: its ledger

local function count(key, field, n)
  if n ~= 0 then return redis.call('HINCRBY', key, field, n) end
end

-- counts lists the use of days and months after an amount, or 0, was posted to them: period, unit, amount, in turn.
local counts = {}

local function count_used(period, i, n)
  local field = period .. ':' .. UNITS[i] .. ':used'
  local used = count(QUOTA, field, n) or tonumber(redis.call('HGET', QUOTA, field) or 0)
  if used ~= 0 then counts[#counts + 1], counts[#counts + 2], counts[#counts + 3] = tonumber(period), i - 1, used end
end

-- INNER are the kinds of scopes inside a team: inner.lua has their keys and fields.
local INNER = {'tags', 'keys'}

-- account_of is the account of a hold's team, with its key: @ and its id, or empty.
local function account_of(team) return string.match(team, '^[^/@]+(@[^/]+)') or '' end

-- scopes_of splits a hold's model|endpoint#tag, or #@tag, and its team/key, or team/@key: with @ the scope is counted. It returns the entry
-- of the ledger, model|endpoint with the team's @account, and the scopes inside the team by kind. Model names may contain # and |;
-- endpoints and tags do not. No team's id has a / or @, except that of an account outside of the teams, which begins with @.
local function scopes_of(hold)
  local scopes = {}
  local entry, mark, tag = string.match(hold.what, '^(.*|%a*)#(@?)([a-z0-9._-]*)$')
  if not entry or mark .. tag == '' then
    entry = hold.what
  else
    scopes.tags = {name = tag, counted = mark == '@'}
  end
  local team = hold.team or ''
  local counted, key = string.match(team, '/(@?)(.+)$')
  if key then scopes.keys = {name = key, counted = counted == '@', own = counted == '@'} end
  return entry .. account_of(team), scopes
end

-- on_account is a hold's team, with its key, on another account: @ and its id, or empty.
local function on_account(team, account) return (string.gsub(team, '^([^/@]+)@?[^/]*', '%1' .. account)) end

-- renew brings a held hold up to what its replica knows of it: the account on which it is charged, how little it holds, and when its lease
-- ends, unless it ends later. It returns when the lease ends. flush writes the rest.
local function renew(key, hold, own, due)
  local was = redis.call('ZADD', TEAM .. 'open', 'XX', 'INCR', 0, hold.id) -- reads it by a command that the ACL already permits
  was = tonumber(was or 0)
  local before, holds, least = text_of(hold), amounts_of(hold.held), amounts_of(own.held)
  hold.team = on_account(hold.team, account_of(own.team))
  for i, n in ipairs(holds) do
    holds[i] = math.min(n, least[i])
    if holds[i] < n then add(sum(hold).held, i, holds[i] - n) end
  end
  hold.held = written(holds)
  if was < due or text_of(hold) ~= before then
    changed[key] = hold
    writes[#writes + 1] = {key, text_of(hold)} -- an older version gave it a time to live
  end
  if was < due then redis.call('ZADD', TEAM .. 'open', string.format('%d', due), hold.id) end
  return math.max(was, due)
end

local function scope_key(kind, day) return USE .. day .. ':' .. kind end

-- start makes a hash of a day that is kept for 400 days, unless there is one, and returns its size.
local function start(key, day)
  local size = redis.call('HLEN', key)
  if size == 0 then
    redis.call('HSET', key, 'day', day)
    redis.call('EXPIRE', key, 34560000)
  end
  return size
end

-- A change of the ledger is late if its day ended more than a day ago: then sums of the day may have been kept.
local function is_late(day) return tonumber(day) < tonumber((periods(clock_read - DAY))) end

-- note_past counts, in the field past, the changes of days that are over: a reader's copy of such days is current until the count changes.
local function note_past() redis.call('HINCRBY', QUOTA, 'past', 1) end

-- note_late notes a late change, with a later time than the one before, so that those who keep sums notice it.
local function note_late(day)
  local key = USE .. 'late'
  local before = tonumber(redis.call('HGET', key, day) or 0)
  redis.call('HSET', key, day, string.format('%d', math.max(clock_read, before + 1)))
  redis.call('EXPIRE', key, 34560000)
end

-- known_name returns the name under which a day counts a name: itself, or other once the day has a thousand, because clients can invent
-- names. own: it is a key that has quotas in the teams file, which always counts under itself.
local function known_name(key, name, own)
  if name == '' or name == 'other' or redis.call('HEXISTS', key, '#' .. name) == 1 then return name end
  local known = tonumber(redis.call('HGET', key, '#') or 0)
  if known >= 1000 and not own then return 'other' end
  redis.call('HSET', key, '#' .. name, 1, '#', known + 1)
  return name
end

-- frees reports whether a sum gives back what was held.
local function frees(s)
  for i in ipairs(UNITS) do
    if s.held[i] < 0 then return true end
  end
  return false
end

-- post_scope adds to what a scope inside the team used on a day, and to what it holds, if holds are counted. If the day does not know the
-- name of a key, a replica of the previous version counted its hold under other.
local function post_scope(key, scope, s)
  start(key, s.day)
  local name = known_name(key, scope.name, scope.own and not frees(s))
  for i, unit in ipairs(UNITS) do
    local field = name .. '||' .. unit
    count(key, field, s.used[i])
    count(key, field .. '|estimated', s.doubt[i])
    local held = scope.counted and count(key, field .. '|held', s.held[i])
    if held then redis.call('HSET', key, '@', 1) end
    if held and held <= 0 then redis.call('HDEL', key, field .. '|held') end
  end
end

-- posts reports whether anything was posted to the ledger.
local function posts(s)
  for i in ipairs(UNITS) do
    if s.used[i] ~= 0 or s.doubt[i] ~= 0 then return true end
  end
  return false
end

-- scope_used returns 1 if a day counts a scope inside the team under other, else 0, and then what the scope used of each unit.
local function scope_used(key, name)
  local other = 0
  if name ~= '' and name ~= 'other' and redis.call('HEXISTS', key, '#' .. name) == 0 then name, other = 'other', 1 end
  local used, fields = {other}, {}
  for i, unit in ipairs(UNITS) do fields[i] = name .. '||' .. unit end
  for i, n in ipairs(redis.call('HMGET', key, unpack(fields))) do used[i + 1] = tonumber(n or 0) end
  return used
end

-- flush writes what was added up. A day's ledger takes no new names once it has 4,000 fields, because clients can invent names.
local function flush()
  local open, past, today = TEAM .. 'open', false, next(sums) and (periods(clock_read))
  redis.call('HLEN', QUOTA)
  redis.call('ZCARD', open)
  for _, s in pairs(sums) do
    redis.call('HLEN', USE .. s.day)
    s.late = is_late(s.day)
    if s.late then redis.call('HLEN', USE .. 'late') end
    s.what, s.scopes = scopes_of(s)
    for kind in pairs(s.scopes) do redis.call('HLEN', scope_key(kind, s.day)) end
  end
  for _, w in ipairs(writes) do redis.call('SET', unpack(w)) end
  for _, s in pairs(sums) do
    local ledger, what = USE .. s.day, s.what
    if start(ledger, s.day) > 4000 and redis.call('HEXISTS', ledger, what .. '|requests') == 0 then
      what = string.gsub(what, '^.*|', 'other|')
    end
    for i, unit in ipairs(UNITS) do
      count(QUOTA, s.day .. ':' .. unit .. ':held', s.held[i])
      count(QUOTA, s.month .. ':' .. unit .. ':held', s.held[i])
      count_used(s.day, i, s.used[i])
      count_used(s.month, i, s.used[i])
      count(ledger, what .. '|' .. unit, s.used[i])
      count(ledger, what .. '|' .. unit .. '|estimated', s.doubt[i])
    end
    if s.kinds[1] then add_kinds(ledger, kinds_field(what), s.kinds) end
    for kind, scope in pairs(s.scopes) do post_scope(scope_key(kind, s.day), scope, s) end
    if s.late and posts(s) then note_late(s.day) end
    if s.day ~= today and posts(s) then past = true end
  end
  if past then note_past() end
  count(QUOTA, 'tasks', tasks)
  if next(sums) then count(QUOTA, 'seq', 1) end
  if #over > 0 then redis.call('ZREM', open, unpack(over)) end
end

-- sweep expires holds: it charges them as held. A settlement may still correct the charge. If a hold is missing, the next sweep.lua
-- counts again what is held.
local function sweep(due)
  local missing = false
  for _, id in ipairs(due) do
    local key = TEAM .. 'hold:' .. id
    local hold = read(key)
    if hold and hold.state == 'held' then
      local amount = amounts_of(hold.held)
      free(hold, amount)
      post(hold, amount, amount)
      hold.state, hold.estimated, hold.charged = 'expired', '1', hold.held
      write(key, hold, LATE)
    else
      missing = missing or not hold
      over[#over + 1] = id
    end
  end
  flush()
  if missing then redis.call('HDEL', QUOTA, 'counted') end
end
