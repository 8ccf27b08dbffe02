-- The scopes inside a team of one kind, for admit.lua: those of the values of its tag (tags), or that of a key (keys).
--
-- The hash of a day's scopes, use:<day>:<kind>, has what each used, <name>||<unit>, and holds, <name>||<unit>|held, and a field @ if it
-- ever held anything. The name of requests without a value is empty. What a scope used in a month is the sum of its days; a day that counts
-- it as one of the others adds what all of those used, so that it never passes its month.

-- inner returns the scopes of a kind for one call: their quotas are behind limits in ARGV, and units are the names of what the requests are
-- charged in. scope is the name of the scope of all requests, or @ if the text of each hold has it.
local function inner(kind, scope, limits, use, day, month, units)
  local call, key, rows, placed, register = redis.call, use .. day .. ':' .. kind, {}, {}, {} -- placed and register by the name that counts
  local head = call('HMGET', key, 'day', '#')
  local known, dated, scopes = tonumber(head[2] or 0), use .. month .. '%02d:' .. kind, {}

  -- counts returns the name under which the day counts a name. A day takes a thousand, because clients can invent them; the others
  -- are one. A key with limits in the teams file, which is that of all requests, is always itself.
  local function counts(name)
    if name == '' or name == 'other' or placed[name] or call('HEXISTS', key, '#' .. name) == 1 then return name, false end
    if scope ~= '@' then return name, true end
    if known >= 1000 then return 'other', false end
    return name, true
  end

  -- hashes returns those of a period: of one day, or of all days of the month, whose names are made once and only if a quota needs them.
  local days = {}
  local function hashes(period)
    if period == 1 then return {key} end
    if not days[1] then
      for d = 1, 31 do days[d] = string.format(dated, d) end
    end
    return days
  end

  -- read reads what a scope used and holds in a period. Of a name that clients can invent, the fields of the others follow its own, and those
  -- that say which of them a day has.
  local function read(row, period)
    local names, at = {}, {}
    for i, unit in ipairs(units) do
      local q = 2 * i - 2 + period
      if ARGV[limits + q] ~= '' then
        names[#names + 1], names[#names + 2] = row.given .. '||' .. unit, row.given .. '||' .. unit .. '|held'
        at[#at + 1], row.used[q] = q, 2 * #units + 2 * q
        row.n[q], row.n[row.used[q]], row.n[row.used[q] + 1] = 0, 0, 0
      end
    end
    local own, known_to = #names, nil
    if scope == '@' and row.given ~= '' and row.given ~= 'other' and own > 0 then
      for i = 1, own do names[own + i] = 'other' .. string.sub(names[i], #row.given + 1) end
      known_to = 2 * own + 1
      names[known_to], names[known_to + 1] = '#', '#' .. row.given
    end
    for _, hash in ipairs(names[1] and hashes(period) or {}) do
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

  -- row returns the scope of a hold's text; other is 1 if the day counts it as one of the others.
  function scopes.row(text)
    local given = scope ~= '@' and scope or string.match(text, '#@([a-z0-9._-]*)$')
    local name, new = counts(given)
    local row = rows[given]
    if not row or row.name ~= name then
      row = {given = given, name = name, new = new, other = name == given and 0 or 1, n = {}, used = {}, held = 0, limits = limits}
      read(row, 1)
      read(row, 2)
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

  -- recount has what is held counted again if a replica of the version before held for the key among the others.
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
    call('HSET', key, '@', 1, '#', string.format('%d', known))
    for name in pairs(register) do
      call('HSET', key, '#' .. name, 1)
      if scope ~= '@' then recount() end
    end
    for name, of in pairs(placed) do
      for i, amount in pairs(of) do call('HINCRBY', key, name .. '||' .. units[i] .. '|held', string.format('%d', amount)) end
    end
  end

  return scopes
end
