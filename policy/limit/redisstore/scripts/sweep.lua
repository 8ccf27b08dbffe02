-- Expires holds, and forgets past periods: Redis searches a small hash from its beginning, so each old field slows admissions down.
--
-- epoch and seq known  most holds  replica  from and to: the first and the last renewal time of allowances whose next renewal an outage
-- stopped; 0: unknown
-- Returns the team's state, and how many holds were due. While a team is restoring none is: an older copy may have holds that are settled, or
-- run longer.

-- count_scopes writes what the scopes inside the team hold on each day, by key and field, and removes what they no longer hold. Days of past
-- months need not be right: no quota counts them.
local function count_scopes(month, held)
  for d = 1, 31 * #INNER do
    local key = scope_key(INNER[math.ceil(d / 31)], string.format('%s%02d', month, (d - 1) % 31 + 1))
    local all = held[key] or {}
    if next(all) or redis.call('HEXISTS', key, '@') == 1 then
      local fields = redis.call('HGETALL', key)
      for i = 1, #fields, 2 do
        if string.sub(fields[i], -5) == '|held' and not all[fields[i]] then redis.call('HDEL', key, fields[i]) end
      end
      for field, n in pairs(all) do redis.call('HSET', key, field, string.format('%d', n), '@', 1) end
    end
  end
end

-- count_again counts what is held, and the open tasks, from the open holds: after a hold was missing, and once for accounts of an
-- older version, whose open holds also lose their TTL.
local function count_again(month)
  local open, prefix = TEAM .. 'open', TEAM .. 'hold:'
  local held, tasks, closed, inner = {}, 0, {}, {}
  for from = 0, redis.call('ZCARD', open) - 1, 1000 do
    for _, id in ipairs(redis.call('ZRANGE', open, from, from + 999)) do
      local hold = read(prefix .. id)
      if hold and hold.state == 'held' then
        local amounts, _, scopes = amounts_of(hold.held), scopes_of(hold)
        for kind, scope in pairs(scopes) do
          local key = scope_key(kind, hold.day)
          if scope.counted then
            start(key, hold.day)
            local name, of = known_name(key, scope.name, scope.own), inner[key] or {}
            inner[key] = of
            for i, n in ipairs(amounts) do
              local field = name .. '||' .. UNITS[i] .. '|held'
              if n > 0 then of[field] = (of[field] or 0) + n end
            end
          end
        end
        for i, n in ipairs(amounts) do
          for _, period in ipairs({hold.day, hold.month}) do
            local field = period .. ':' .. UNITS[i] .. ':held'
            held[field] = (held[field] or 0) + n
          end
        end
        tasks = tasks + hold.task
        redis.call('SET', prefix .. id, redis.call('GET', prefix .. id))
      else
        closed[#closed + 1] = id
      end
    end
  end
  for _, id in ipairs(closed) do redis.call('ZREM', open, id) end
  local fields = redis.call('HGETALL', QUOTA)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], -5) == ':held' then held[fields[i]] = held[fields[i]] or 0 end
  end
  for field, n in pairs(held) do redis.call('HSET', QUOTA, field, string.format('%d', n)) end
  redis.call('HSET', QUOTA, 'tasks', tasks, 'counted', '1')
  count_scopes(month, inner)
end

-- LAPSE is how long an allowance stays set aside after its lease ended: its replica may have been cut off, and come back.
local LAPSE = 3600000000

-- abandoned ends the allowances of other replicas whose lease has ended. If such a replica was alive when Redis
-- went away for all, it may have spent the allowance, which is charged. It returns what is to be written.
local function abandoned(now, replica, from, to)
  local fields, freed, rows = {}, {}, redis.call('HGETALL', ASIDE)
  for i = 1, #rows, 2 do
    local field, text = rows[i], rows[i + 1]
    local who, day = string.match(field, '^(.*):(%d+)$')
    local row = who and who ~= replica and parse_aside(text)
    local over = row and row.state ~= 'charged' and row.due <= now
    if over and row.renewed >= from and row.renewed < to then
      row.state, row.due = 'charged', now
      post({day = day, month = string.sub(day, 1, 6), what = 'allowance|other'}, row.amount, row.amount)
      freed[#freed + 1] = {day, row.amount}
      fields[field] = row
    elseif over and row.state == 'open' then
      row.state, row.due = 'lapsed', now
      fields[field] = row
    elseif row and row.state ~= 'open' and row.due < now - (row.state == 'lapsed' and LAPSE or LATE * 1000) then
      if row.state == 'lapsed' then freed[#freed + 1] = {day, row.amount} end
      fields[field] = ''
    elseif not who and tonumber(string.match(text, '(%d+)$')) < now - 2 * LATE * 1000 then
      fields[field] = ''
    end
  end
  return fields, freed
end

local now = clock()
local head = redis.call('HMGET', QUOTA, 'epoch', 'seq', 'restoring')
local refused = refusal(head[1], head[2], nil, now)
if refused then return refused end
local fields, freed, due = {}, {}, {}
if not restoring(head[3], now) then
  fields, freed = abandoned(now, A.replica, A.from, A.to)
  due = redis.call('ZRANGEBYSCORE', TEAM .. 'open', '-inf', now, 'LIMIT', 0, A.most)
  sweep(due)
end
for _, f in ipairs(freed) do move_aside(f[1], f[2], NOTHING) end
for field, row in pairs(fields) do
  if row == '' then redis.call('HDEL', ASIDE, field) else redis.call('HSET', ASIDE, field, aside_text(row)) end
end
if redis.call('HGET', QUOTA, 'counted') ~= '1' and redis.call('HEXISTS', QUOTA, 'epoch') == 1 then count_again((select(2, periods(now)))) end
local today = periods(now)
local week, season = tonumber((periods(now - 8 * DAY))), tonumber((periods(now - 70 * DAY)))
local counted = redis.call('HGETALL', QUOTA)
for i = 1, #counted, 2 do
  local period, what = string.match(counted[i], '^(%d+):%a+:(%a+)$')
  if period and period ~= today then
    local ends, over = tonumber(period), season
    if #period == 6 then ends = ends * 100 + 31 elseif what == 'used' or what == 'told' or what == 'copy' then over = week end
    if ends < over or #period == 8 and (what == 'held' or what == 'aside') and counted[i + 1] == '0' then redis.call('HDEL', QUOTA, counted[i]) end
  end
end
local reply = standing(now)
reply[#reply + 1] = #due
for _, n in ipairs(counts) do reply[#reply + 1] = n end
return reply
