-- What is set aside: for scripts that change allowances or tell how a team stands.
--
-- The hash aside has a field for each allowance, <replica>:<day>: its state, five amounts (the units and open tasks), the end
-- of its lease and the moment of its renewal. And a field <replica> for each that ever had one: the number of its last call, and
-- when that was. The hash quota has the sums, <period>:<unit>:aside and tasks:aside.
--
-- An allowance is open; once its lease has ended it is lapsed, which still sets it aside, or charged.
local ASIDE = '^(%a+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$'

-- parse_aside takes the field of an allowance apart; nil: there is none.
local function parse_aside(text)
  local state, a, b, c, d, e, due, renewed = string.match(text or '', ASIDE)
  return state and {state = state, due = tonumber(due), renewed = tonumber(renewed),
    amount = {tonumber(a), tonumber(b), tonumber(c), tonumber(d), tonumber(e)}}
end

local function aside_text(row)
  return string.format('%s %d %d %d %d %d %d %d', row.state, row.amount[1], row.amount[2], row.amount[3], row.amount[4], row.amount[5], row.due, row.renewed)
end

local function five(text)
  local a, b, c, d, e = string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  return {tonumber(a), tonumber(b), tonumber(c), tonumber(d), tonumber(e)}
end

local NOTHING = {0, 0, 0, 0, 0}

-- move_aside sets an amount aside for a day and its month in the place of another.
local function move_aside(quota, day, from, to)
  for i = 1, 5 do
    local more = to[i] - from[i]
    if more ~= 0 and i == 5 then
      redis.call('HINCRBY', quota, 'tasks:aside', string.format('%d', more))
    elseif more ~= 0 then
      redis.call('HINCRBY', quota, day .. ':' .. UNITS[i] .. ':aside', string.format('%d', more))
      redis.call('HINCRBY', quota, string.sub(day, 1, 6) .. ':' .. UNITS[i] .. ':aside', string.format('%d', more))
    end
  end
end

-- last_call is the number of a replica's last call.
local function last_call(aside, replica)
  return tonumber(string.match(redis.call('HGET', aside, replica) or '', '^(%d+) %d+$') or 0)
end

local function heard(aside, replica, call, now)
  redis.call('HSET', aside, replica, string.format('%d %d', call, now))
  if call % 100 == 1 then redis.call('EXPIRE', aside, 34560000) end -- now and then is enough for 400 days
end

-- come_back takes back what was charged for an allowance whose replica tells the truth after all. flush writes it.
local function come_back(row, day)
  if not row or row.state ~= 'charged' then return row end
  local back = {}
  for i = 1, 4 do back[i] = -row.amount[i] end
  post({day = day, month = string.sub(day, 1, 6), what = 'allowance|other'}, back, back)
  return nil
end

-- keep_aside writes an allowance.
local function keep_aside(aside, row, now, lease)
  local a, some = row.amount, 0
  for i = 1, 5 do some = some + a[i] end
  if some > 0 then
    redis.call('HSET', aside, row.field, aside_text({state = 'open', amount = a, due = now + lease, renewed = now}))
  else
    redis.call('HDEL', aside, row.field)
  end
end

-- standing begins a reply with how a team stands: the number, 1, epoch, sequence number, now, open tasks, used day and month
-- of each unit, held likewise. At its end a reply may have the counts of holds.lua.
local function standing(number, quota, now)
  local day, month = periods(now)
  local got, all = {}, redis.call('HGETALL', quota) -- which costs less than to search for so many
  for i = 1, #all, 2 do got[all[i]] = all[i + 1] end
  local reply = {number, 1, tonumber(got.epoch or 0), tonumber(got.seq or 0), now, tonumber(got.tasks or 0)}
  for _, what in ipairs({':used', ':held'}) do
    for _, unit in ipairs(UNITS) do
      reply[#reply + 1] = tonumber(got[day .. ':' .. unit .. what] or 0)
      reply[#reply + 1] = tonumber(got[month .. ':' .. unit .. what] or 0)
    end
  end
  return reply
end
