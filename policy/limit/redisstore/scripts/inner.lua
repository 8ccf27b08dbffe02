-- The scopes inside a team of one kind, for admit.lua: those of the values of its tag (tags), or that of a key (keys).
--
-- The hash of a day's scopes, use:<day>:<kind>, has what each used, <name>||<unit>, and holds, <name>||<unit>|held, and a field @ if it
-- ever held anything. The name of requests without a value is empty. What a scope used in a month is the sum of its days.

-- inner returns the scopes of a kind for one call: their quotas are behind limits in ARGV, and units are the names of what the requests are
-- charged in. scope is the name of the scope of all requests, or @ if the text of each hold has it.
local function inner(kind, scope, limits, use, day, month, units)
  local call, key, rows = redis.call, use .. day .. ':' .. kind, {}
  local head = call('HMGET', key, 'day', '#')
  local known, dated, scopes = tonumber(head[2] or 0), use .. month .. '%02d:' .. kind, {}

  -- counts returns the name under which the day counts a name. A day takes a thousand, because clients can invent them; the others
  -- are one.
  local function counts(name)
    local row = rows[name]
    if name == '' or name == 'other' or row and not row.new or call('HEXISTS', key, '#' .. name) == 1 then return name, false end
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

  -- read reads what a scope used and holds in a period.
  local function read(row, period)
    local names, at = {}, {}
    for i, unit in ipairs(units) do
      local q = 2 * i - 2 + period
      if ARGV[limits + q] ~= '' then
        names[#names + 1], names[#names + 2] = row.name .. '||' .. unit, row.name .. '||' .. unit .. '|held'
        at[#at + 1], row.used[q] = q, 2 * #units + 2 * q
        row.n[q], row.n[row.used[q]], row.n[row.used[q] + 1] = 0, 0, 0
      end
    end
    for _, hash in ipairs(names[1] and hashes(period) or {}) do
      local got = call('HMGET', hash, unpack(names))
      for n, q in ipairs(at) do
        local used = row.used[q]
        row.n[used], row.n[q] = row.n[used] + (got[2 * n - 1] or 0), row.n[q] + (got[2 * n] or 0)
      end
    end
  end

  -- row returns the scope of a hold's text; other is 1 if the day counts it as one of the others.
  function scopes.row(text)
    local given = scope ~= '@' and scope or string.match(text, '#@([a-z0-9._-]*)$')
    local name, new = counts(given)
    local row = rows[name]
    if not row then
      row = {name = name, new = new, n = {}, used = {}, held = 0, limits = limits, placed = {}}
      read(row, 1)
      read(row, 2)
      rows[name] = row
    end
    row.other = name == given and 0 or 1
    return row
  end

  -- place holds an amount of unit i for a scope.
  function scopes.place(row, i, amount)
    if row.new then known, row.new, row.register = known + 1, false, true end
    row.placed[i] = (row.placed[i] or 0) + amount
    for q = 2 * i - 1, 2 * i do
      if row.used[q] then row.n[q] = row.n[q] + amount end
    end
  end

  -- write writes what was placed.
  function scopes.write()
    if not head[1] then
      call('HSET', key, 'day', day)
      call('EXPIRE', key, 34560000)
    end
    call('HSET', key, '@', 1, '#', string.format('%d', known))
    for name, row in pairs(rows) do
      if row.register then call('HSET', key, '#' .. name, 1) end
      for i, amount in pairs(row.placed) do
        call('HINCRBY', key, name .. '||' .. units[i] .. '|held', string.format('%d', amount))
      end
    end
  end

  return scopes
end
