-- Allowances, and the team's state.
--
-- The hash aside has a field <replica>:<day> for each allowance: its state, five amounts (the units and open tasks), the end of its
-- lease, and when it was renewed; and a field <replica> with the number and the time of the replica's last call. The hash quota has
-- the sums: <period>:<unit>:aside and tasks:aside.
--
-- An allowance is open. When its lease has ended it is charged, or lapsed: still set aside.
local ASIDE = '^(%a+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$'

-- parse_aside reads the field of an allowance; nil: there is none.
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

-- move_aside replaces an amount that is set aside for a day and its month by another.
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

-- record_call records the number and the time of a replica's last call.
local function record_call(aside, replica, call, now)
  redis.call('HSET', aside, replica, string.format('%d %d', call, now))
  if call % 100 == 1 then redis.call('EXPIRE', aside, 34560000) end -- 400 days; once in a while is enough
end

-- come_back takes back what was charged for an allowance whose replica is back. flush writes it.
local function come_back(row, day)
  if not row or row.state ~= 'charged' then return row end
  local back = {}
  for i = 1, 4 do back[i] = -row.amount[i] end
  post({day = day, month = string.sub(day, 1, 6), what = 'allowance|other'}, back, back)
  return nil
end

-- write_aside writes an allowance.
local function write_aside(aside, row, now, lease)
  local a, some = row.amount, 0
  for i = 1, 5 do some = some + a[i] end
  if some > 0 then
    redis.call('HSET', aside, row.field, aside_text({state = 'open', amount = a, due = now + lease, renewed = now}))
  else
    redis.call('HDEL', aside, row.field)
  end
end

-- standing begins a reply with the team's state: the number, 1, epoch, sequence number, now, open tasks, what day and month have used
-- of each unit, what they hold. The counts of holds.lua may end such a reply.
local function standing(number, quota, now)
  local day, month = periods(now)
  local got, all = {}, redis.call('HGETALL', quota) -- cheaper than so many single fields
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
