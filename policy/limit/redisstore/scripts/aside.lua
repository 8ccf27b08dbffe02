-- Allowances, and the team's state.
--
-- The hash aside has a field <replica>:<day> for each allowance: its state, its amounts (the units and open tasks), the end of its
-- lease, and when it was renewed; and a field <replica> with the number and the time of the replica's last call. The hash quota has
-- the sums: <period>:<unit>:aside and tasks:aside.
--
-- An allowance is open. When its lease has ended it is charged, or lapsed: still set aside.
local ASIDE, TASKS = TEAM .. 'aside', #UNITS + 1

-- parse_aside reads the field of an allowance, or nil. A field from before the last units were added has fewer amounts.
local function parse_aside(text)
  local state, numbers = string.match(text or '', '^(%a+) ([%d ]+)$')
  if not state then return nil end
  local amount = amounts_of(numbers)
  local row = {state = state, renewed = table.remove(amount), due = table.remove(amount), amount = amount}
  local tasks = table.remove(amount)
  for i = #amount + 1, #UNITS do amount[i] = 0 end
  amount[TASKS] = tasks
  return row
end

local function aside_text(row) return row.state .. ' ' .. written(row.amount) .. string.format(' %d %d', row.due, row.renewed) end

local NOTHING = nothing()
NOTHING[TASKS] = 0

-- move_aside replaces an amount that is set aside for a day and its month by another.
local function move_aside(day, from, to)
  for i = 1, TASKS do
    local more = to[i] - from[i]
    if more ~= 0 and i == TASKS then
      redis.call('HINCRBY', QUOTA, 'tasks:aside', string.format('%d', more))
    elseif more ~= 0 then
      redis.call('HINCRBY', QUOTA, day .. ':' .. UNITS[i] .. ':aside', string.format('%d', more))
      redis.call('HINCRBY', QUOTA, string.sub(day, 1, 6) .. ':' .. UNITS[i] .. ':aside', string.format('%d', more))
    end
  end
end

-- last_call is the number of a replica's last call.
local function last_call(replica)
  return tonumber(string.match(redis.call('HGET', ASIDE, replica) or '', '^(%d+) %d+$') or 0)
end

-- record_call records the number and the time of a replica's last call.
local function record_call(replica, call, now)
  redis.call('HSET', ASIDE, replica, string.format('%d %d', call, now))
  if call % 100 == 1 then redis.call('EXPIRE', ASIDE, 34560000) end -- 400 days; once in a while is enough
end

-- come_back takes back what was charged for an allowance whose replica is back. flush writes it.
local function come_back(row, day)
  if not row or row.state ~= 'charged' then return row end
  local back = {}
  for i in ipairs(UNITS) do back[i] = -row.amount[i] end
  post({day = day, month = string.sub(day, 1, 6), what = 'allowance|other'}, back, back)
  return nil
end

-- write_aside writes an allowance.
local function write_aside(row, now, lease)
  local some = 0
  for _, n in ipairs(row.amount) do some = some + n end
  if some > 0 then
    redis.call('HSET', ASIDE, row.field, aside_text({state = 'open', amount = row.amount, due = now + lease, renewed = now}))
  else
    redis.call('HDEL', ASIDE, row.field)
  end
end

-- standing begins a reply with the team's state: the number, 1, epoch, sequence number, now, open tasks, what day and month have used
-- of each unit, and what they hold. The counts of holds.lua may end such a reply.
local function standing(now)
  local day, month = periods(now)
  local got, all = {}, redis.call('HGETALL', QUOTA) -- cheaper than reading each field
  for i = 1, #all, 2 do got[all[i]] = all[i + 1] end
  local reply = {NUMBER, 1, tonumber(got.epoch or 0), tonumber(got.seq or 0), now, tonumber(got.tasks or 0)}
  for _, what in ipairs({':used', ':held'}) do
    for _, unit in ipairs(UNITS) do
      reply[#reply + 1] = tonumber(got[day .. ':' .. unit .. what] or 0)
      reply[#reply + 1] = tonumber(got[month .. ':' .. unit .. what] or 0)
    end
  end
  return reply
end
