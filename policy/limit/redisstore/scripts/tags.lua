-- Quotas of each value of the team's tag, for admit.lua.
--
-- The hash of a day's tags has what each value used, <value>||<unit>, and holds, <value>||<unit>|held, and a field @ if it ever held
-- anything. The value of requests without the tag is empty. What a value used in a month is the sum of its days.

-- by_tag returns the quotas of one call: limits has those of day and month of each unit that its requests are charged in, or empty, and
-- named the units' names.
local function by_tag(use, day, month, named, limits)
  local call, key, rows, units = redis.call, use .. day .. ':tags', {}, {}
  for i = 1, #limits / 2 do units[i] = named(i) end
  local head = call('HMGET', key, 'day', '#')
  local known, tags = tonumber(head[2] or 0), {limits = limits}

  -- counts returns the value under which the day counts a value. A day takes a thousand, because clients can invent them; the others
  -- are one.
  local function counts(value)
    local row = rows[value]
    if value == '' or value == 'other' or row and not row.new or call('HEXISTS', key, '#' .. value) == 1 then return value, false end
    if known >= 1000 then return 'other', false end
    return value, true
  end

  -- read reads what a value used and holds in a period: of one day, or of all days of the month.
  local function read(row, period, hashes)
    local names, at = {}, {}
    for i, unit in ipairs(units) do
      local q = 2 * i - 2 + period
      if limits[q] ~= '' then
        names[#names + 1], names[#names + 2] = row.value .. '||' .. unit, row.value .. '||' .. unit .. '|held'
        row.used[q], row.held[q], at[#at + 1] = 0, 0, q
      end
    end
    for _, hash in ipairs(names[1] and hashes or {}) do
      local got = call('HMGET', hash, unpack(names))
      for n, q in ipairs(at) do
        row.used[q], row.held[q] = row.used[q] + (got[2 * n - 1] or 0), row.held[q] + (got[2 * n] or 0)
      end
    end
  end

  -- row returns what the value of a hold's text used and holds, and 1 if it is one of the others, else 0.
  function tags.row(text)
    local given = string.match(text, '#@([a-z0-9._-]*)$')
    local value, new = counts(given)
    local row, days = rows[value], {}
    if not row then
      for d = 1, 31 do days[d] = string.format('%s%s%02d:tags', use, month, d) end
      row = {value = value, new = new, used = {}, held = {}, placed = {}}
      read(row, 1, {key})
      read(row, 2, days)
      rows[value] = row
    end
    return row, value == given and 0 or 1
  end

  -- place holds an amount of unit i for a row's value.
  function tags.place(row, i, amount)
    if row.new then known, row.new, row.register = known + 1, false, true end
    row.placed[i] = (row.placed[i] or 0) + amount
    for q = 2 * i - 1, 2 * i do
      if row.held[q] then row.held[q] = row.held[q] + amount end
    end
  end

  -- write writes what was placed.
  function tags.write()
    if not head[1] then
      call('HSET', key, 'day', day)
      call('EXPIRE', key, 34560000)
    end
    call('HSET', key, '@', 1, '#', string.format('%d', known))
    for value, row in pairs(rows) do
      if row.register then call('HSET', key, '#' .. value, 1) end
      for i, amount in pairs(row.placed) do
        call('HINCRBY', key, value .. '||' .. units[i] .. '|held', string.format('%d', amount))
      end
    end
  end

  return tags
end
