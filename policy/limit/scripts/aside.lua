-- What is set aside: for scripts that change allowances.
--
-- The hash aside has a field for each allowance, <replica>:<day>: its state, five amounts (the units and open tasks), the end
-- of its lease and the moment of its renewal. And a field <replica> for each that ever reported: the number of its last
-- report, and when that was. The hash quota has the sums, <period>:<unit>:aside and tasks:aside.

-- parse_aside takes the field of an allowance apart; nil: there is none. Its state is open, or charged where its lease has
-- ended and it may have been spent.
local function parse_aside(text)
  if not text then return nil end
  local state, a, b, c, d, e, due, renewed = string.match(text, '^(%a+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  return state and {state = state, due = tonumber(due), renewed = tonumber(renewed),
    amount = {tonumber(a), tonumber(b), tonumber(c), tonumber(d), tonumber(e)}}
end

local function aside_text(state, amount, due, renewed)
  return string.format('%s %d %d %d %d %d %d %d', state, amount[1], amount[2], amount[3], amount[4], amount[5], due, renewed)
end

-- move_aside adds to the sums of what is set aside for a day and its month; sign is 1 or -1.
local function move_aside(quota, day, amount, sign)
  local month = string.sub(day, 1, 6)
  for i = 1, 4 do
    if amount[i] ~= 0 then
      redis.call('HINCRBY', quota, day .. ':' .. UNITS[i] .. ':aside', string.format('%d', sign * amount[i]))
      redis.call('HINCRBY', quota, month .. ':' .. UNITS[i] .. ':aside', string.format('%d', sign * amount[i]))
    end
  end
  if amount[5] ~= 0 then redis.call('HINCRBY', quota, 'tasks:aside', string.format('%d', sign * amount[5])) end
end

-- left is how much of a unit, or of open tasks, there is room for on a day. ARGV has the quotas, as allowance.lua says.
local function left(quota, day, i)
  if i == 5 then
    if ARGV[19] == '' then return 0 end
    local got = redis.call('HMGET', quota, 'tasks', 'tasks:aside')
    return ARGV[19] - (got[1] or 0) - (got[2] or 0)
  end
  local room
  for p, period in ipairs({day, string.sub(day, 1, 6)}) do
    local limit = ARGV[10 + 2 * i - 2 + p]
    if limit ~= '' then
      local name = period .. ':' .. UNITS[i]
      local got = redis.call('HMGET', quota, name .. ':used', name .. ':held', name .. ':aside')
      room = math.min(room or 2 ^ 53, limit - (got[1] or 0) - (got[2] or 0) - (got[3] or 0))
    end
  end
  return room or 0
end

-- lapse ends the allowances of other replicas whose leases have ended. since is the moment since which Redis was reached
-- without a gap; nil: not known, and nothing is ended. What it posts, flush writes.
local function lapse(quota, aside, now, since, replica)
  if not since then return end
  local rows = redis.call('HGETALL', aside)
  for i = 1, #rows, 2 do
    local who, day = string.match(rows[i], '^(.*):(%d+)$')
    if not who then
      local at = string.match(rows[i + 1], ' (%d+)$')
      if at and tonumber(at) < now - LATE * 1000 then redis.call('HDEL', aside, rows[i]) end
    elseif who ~= replica then
      local row = parse_aside(rows[i + 1])
      if row.state == 'open' and row.due <= now then
        move_aside(quota, day, row.amount, -1)
        if row.renewed >= since then
          redis.call('HDEL', aside, rows[i])
        else
          post({day = day, month = string.sub(day, 1, 6), what = 'allowance|other'}, row.amount, row.amount)
          redis.call('HSET', aside, rows[i], aside_text('charged', row.amount, now, row.renewed))
        end
      elseif row.state == 'charged' and row.due < now - LATE * 1000 then
        redis.call('HDEL', aside, rows[i])
      end
    end
  end
end
