-- Announces the thresholds of quotas that charges pass: for settle.lua and batch.lua, after write.lua of the outbox.
--
-- reached is called before anything is changed, with the arguments of an event, without its data, and a list of quotas:
--   period     the day or month, as text: one that is over announces nothing
--   field      of QUOTA, with the use of the account; or, for a scope inside the team, kind, of and unit: its kind, name and unit, and own
--              if it is a key, which always counts under itself
--   memory     the suffix of the hash that remembers what was announced: by name and a per cent, the limit
--   at         for each per cent its number and the least use that reaches it
--   limit, head, tail, digits   the quota, the data before the per cent and at the end, and the number of decimals
-- It returns a function to be called when all is changed, which returns how many events it wrote, and how many older ones these displaced.

function reached(R, now)
  local call, quotas = redis.call, {}
  local day, month = periods(now)

  -- used is what a scope used in the period. A day that counts it under other adds all that other used, as in inner.lua.
  local function used(q)
    if q.field then return tonumber(call('HGET', QUOTA, q.field) or 0) end
    local total, first, last = 0, tonumber(q.period), tonumber(q.period)
    if q.period == month then first, last = first * 100 + 1, first * 100 + 31 end
    for d = first, last do
      local got = call('HMGET', string.format('%suse:%d:%s', TEAM, d, q.kind), q.of .. '||' .. q.unit, 'other||' .. q.unit, '#' .. q.of, '#')
      local n = got[1]
      if not q.own and q.of ~= '' and q.of ~= 'other' and not got[3] and tonumber(got[4] or 0) >= 1000 then n = got[2] end
      total = total + (n or 0)
    end
    return total
  end

  -- decimal writes an amount with that many decimals, without trailing zeros.
  local function decimal(n, digits)
    local text = string.format('%d', n)
    if digits == 0 then return text end
    text = string.rep('0', digits + 1 - #text) .. text
    local part = string.gsub(string.sub(text, -digits), '0+$', '')
    return string.sub(text, 1, -digits - 1) .. (part == '' and '' or '.' .. part)
  end

  local ready = false
  for _, q in ipairs(R.quotas) do
    if q.period == day or q.period == month then
      q.before = used(q)
      for i = 1, #q.at, 2 do
        if q.before < q.at[i + 1] then -- it may be passed now
          if not ready then ready_event(R) end
          ready = true
          call('HLEN', TEAM .. q.memory)
          quotas[#quotas + 1] = q
          break
        end
      end
    end
  end

  return function()
    local told, displaced = 0, 0
    for _, q in ipairs(quotas) do
      local is = used(q)
      for i = 1, #q.at, 2 do
        if q.before < q.at[i + 1] and is >= q.at[i + 1] and remember(q, q.at[i]) then
          local data = q.head .. string.format('%d', q.at[i]) .. ',"used":' .. decimal(is, q.digits) .. ',"left":' .. decimal(math.max(q.limit - is, 0), q.digits) .. q.tail
          local _, others = write_event({type = R.type, data = data, to = R.to, keep = R.keep, most = R.most}, now)
          told, displaced = told + 1, displaced + others
        end
      end
    end
    return told, displaced
  end
end
