-- The scopes inside a team of one kind, for admit.lua: those of the values of its tag (tags), or that of a key (keys).
--
-- The hash of a day's scopes, use:<day>:<kind>, has what each used, <name>||<unit>, and holds, <name>||<unit>|held, and a field @ if it
-- ever held anything. The name of requests without a value is empty. The use of a scope in a month is the sum of its days; a day that
-- counts it under other adds all that other used, so that the scope never passes its month.

-- inner returns the scopes of a kind for one call: their quotas are after index limits in ARGV, and units are the names of the units that
-- the requests are charged in. scope is the name of the scope of all requests, or @ if it is in the text of each hold.
local function inner(kind, scope, limits, use, day, month, units)
  local call, key, rows, placed, register = redis.call, use .. day .. ':' .. kind, {}, {}, {} -- placed and register by the name that counts
  local dated, dates, scopes, seen, head, known = use .. month .. '%02d:' .. kind, {}, {}, {}, nil, nil

  -- today returns what the day has of a name, read once: whether it knows the name, what is held of each unit, and what is used of each unit
  -- that a quota of the day counts. It sets head, whose fields 1 and 3 show whether the day and the field @ are written, and known, the
  -- number of names.
  local function today(name)
    if seen[name] then return seen[name] end
    local fields, at = {'day', '#', '@', '#' .. name}, {}
    for i, unit in ipairs(units) do fields[4 + i] = name .. '||' .. unit .. '|held' end
    for i, unit in ipairs(units) do
      if ARGV[limits + 2 * i - 1] ~= '' then
        fields[#fields + 1] = name .. '||' .. unit
        at[i] = #fields
      end
    end
    local got = call('HMGET', key, unpack(fields))
    head, known = head or got, known or tonumber(got[2] or 0)
    seen[name] = {known = got[4], held = {}, used = {}}
    for i in ipairs(units) do
      seen[name].held[i] = tonumber(got[4 + i] or 0)
      seen[name].used[i] = at[i] and tonumber(got[at[i]] or 0)
    end
    return seen[name]
  end

  -- counts returns the name under which the day counts a name, and whether the day does not know it yet. Names beyond a thousand count under
  -- other, because clients can invent them. A key with limits in the teams file, which is that of all requests, counts under itself.
  local function counts(name)
    if name == '' or name == 'other' or placed[name] or today(name).known then return name, false end
    if scope ~= '@' then return name, true end
    if known >= 1000 then return 'other', false end
    return name, true
  end

  -- quota makes room in a row for what is used and held of a quota, and returns the indices of both.
  local function quota(row, q)
    local used = 2 * #units + 2 * q
    row.used[q], row.n[used + 1] = used, 0
    return used, q
  end

  local function read_day(row)
    for i, n in pairs(today(row.name).used) do
      local used, held = quota(row, 2 * i - 1)
      row.n[used], row.n[held] = n, today(row.name).held[i]
    end
  end

  -- read_month reads what a scope used and holds on all days of the month. For a name that clients can invent it also reads the fields of
  -- other, the number of names of each day, and whether the day knows the name.
  local function read_month(row)
    local names, at = {}, {}
    for i, unit in ipairs(units) do
      if ARGV[limits + 2 * i] ~= '' then
        names[#names + 1], names[#names + 2] = row.given .. '||' .. unit, row.given .. '||' .. unit .. '|held'
        local used, held = quota(row, 2 * i)
        at[#at + 1], row.n[used], row.n[held] = held, 0, 0
      end
    end
    local own, known_to = #names, nil
    if scope == '@' and row.given ~= '' and row.given ~= 'other' and own > 0 then
      for i = 1, own do names[own + i] = 'other' .. string.sub(names[i], #row.given + 1) end
      known_to = 2 * own + 1
      names[known_to], names[known_to + 1] = '#', '#' .. row.given
    end
    for d = 1, own > 0 and 31 or 0 do
      local hash = dates[d] or string.format(dated, d)
      dates[d] = hash
      local got, from = call('HMGET', hash, unpack(names)), 0
      local folded = known_to and not got[known_to + 1] and tonumber(got[known_to] or 0) >= 1000
      if hash == key then folded = row.other == 1 end
      if folded then from = own end
      for n, q in ipairs(at) do
        local used = row.used[q]
        row.n[used], row.n[q] = row.n[used] + (got[from + 2 * n - 1] or 0), row.n[q] + (got[from + 2 * n] or 0)
      end
    end
  end

  -- hold adds an amount of unit i to what a scope holds.
  local function hold(row, i, amount)
    for q = 2 * i - 1, 2 * i do
      if row.used[q] then row.n[q] = row.n[q] + amount end
    end
  end

  -- row returns the scope of a hold's text; its field other is 1 if the day counts it under other.
  function scopes.row(text)
    local given = scope ~= '@' and scope or string.match(text, '#@([a-z0-9._-]*)$')
    local name, new = counts(given)
    local row = rows[given]
    if not row or row.name ~= name then
      row = {given = given, name = name, new = new, other = name == given and 0 or 1, n = {}, used = {}, held = 0, limits = limits}
      read_day(row)
      read_month(row)
      for i, amount in pairs(placed[name] or {}) do hold(row, i, amount) end
      rows[given] = row
    end
    return row
  end

  -- place holds an amount of unit i for a scope. Those that the day counts under the same name share it.
  function scopes.place(row, i, amount)
    if row.new then known, row.new, register[row.name] = known + 1, false, true end
    local of = placed[row.name] or {}
    placed[row.name], of[i] = of, (of[i] or 0) + amount
    for _, other in pairs(rows) do
      if other.name == row.name then hold(other, i, amount) end
    end
  end

  -- recount makes sweep.lua count again what is held if a replica of the previous version counted holds of the key under other.
  local function recount()
    for _, unit in ipairs(UNITS) do
      if call('HEXISTS', key, 'other||' .. unit .. '|held') == 1 then call('HDEL', KEYS[1], 'counted') end
    end
  end

  -- write writes what was placed.
  function scopes.write()
    if not head[1] then
      call('HSET', key, 'day', day)
      call('EXPIRE', key, 34560000)
    end
    local fields = {}
    local function set(field, n) fields[#fields + 1], fields[#fields + 2] = field, string.format('%d', n) end
    if not head[3] or next(register) then
      set('@', 1)
      set('#', known)
    end
    for name in pairs(register) do
      set('#' .. name, 1)
      if scope ~= '@' then recount() end
    end
    for name, of in pairs(placed) do
      for i, amount in pairs(of) do set(name .. '||' .. units[i] .. '|held', today(name).held[i] + amount) end
    end
    if fields[1] then call('HSET', key, unpack(fields)) end
  end

  return scopes
end
