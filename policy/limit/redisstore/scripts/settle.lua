-- Settles holds of one team with what their requests used, each once. An expired hold was charged as held: the difference is charged. If
-- a hold is unknown because Redis lost it, only the charge is posted, also once.
--
-- team  epoch and seq known  terms: rates
-- charges: id, estimated, day (empty: an unknown hold is ignored), month, what is model|endpoint, account is @ and its id or empty, key,
--       task, amounts, keep the settled hold so many ms, rated if an unknown hold takes from the rates, rates of the scopes inside the team,
--       event to be written if this settles the hold (write.lua of the outbox), or none
-- reached: the thresholds of quotas to be announced (reached.lua), or none
-- ARGV  from 4 what each charge used by kind, packed (kinds.lua), or empty
-- Returns the team's state, and for each charge 1 if this settled it, 0 if it was settled before, -1 if nothing is known of it; then how
--       many older events the written ones displaced, and with thresholds how many events announce them; then for each charge and scope
--       inside the team that counts it 1 if it counts under other, else 0, and what it used of each unit on the day.
-- While a team is restoring nothing is settled, because no replica would know all that is charged meanwhile.
local now = clock()
local head = redis.call('HMGET', QUOTA, 'epoch', 'seq', 'restoring')
local refused = refusal(head[1], head[2], head[3], now)
if refused then return refused end
local tell = A.reached and reached(A.reached, now)

-- team_of is a charge's team with its account and key, as a hold's text has it.
local function team_of(c) return A.team .. c.account .. (c.key == '' and '' or '/' .. c.key) end

local settled, buckets, none, events = {}, {}, written(nothing()), {}
for n, c in ipairs(A.charges) do
  local key = TEAM .. 'hold:' .. c.id
  local hold = read(key)
  if not hold and c.day ~= '' then
    hold = {state = 'none', estimated = '0', task = c.task and '1' or '0', rates = c.rated and 2 ^ (#UNITS * (1 + #INNER)) - 1 or 0, day = c.day, month = c.month, held = none,
      charged = none, id = c.id, team = team_of(c), what = c.what}
  end
  local done = 1
  if not hold then
    done = -1
  elseif hold.state == 'settled' then
    done = 0
  else
    local actual, held, charged = c.amounts, amounts_of(hold.held), amounts_of(hold.charged)
    local moved = on_account(hold.team, c.account)
    if hold.state == 'expired' and moved ~= hold.team then -- it was charged on the account of its text
      local back = {}
      for i in ipairs(UNITS) do back[i] = -charged[i] end
      post(hold, back, hold.estimated == '1' and back or nothing())
      charged, hold.estimated = nothing(), '0'
    end
    hold.team = moved
    if hold.state == 'held' then free(hold, held) end
    local change, doubt = {}, {}
    for i in ipairs(UNITS) do
      change[i] = actual[i] - charged[i]
      doubt[i] = (c.estimated and actual[i] or 0) - (hold.estimated == '1' and charged[i] or 0)
    end
    post(hold, change, doubt, ARGV[3 + n])
    for _, rates in ipairs({A.terms.rates, c.rates}) do
      for _, rate in ipairs(rates) do
        local i, name = rate.unit, rate.unit .. (rate.of or '')
        if taken(hold, rate.bit) and actual[i] ~= held[i] then
          local b = buckets[name]
          if not b then
            b = rated(rate, now)
            buckets[name] = b
          end
          if actual[i] > held[i] then take(b, actual[i] - held[i]) else give(b, held[i] - actual[i]) end
        end
      end
    end
    hold.state = 'settled'
    write(key, hold, c.keep)
    if c.event then
      ready_event(c.event)
      events[#events + 1] = c.event
    end
  end
  settled[#settled + 1] = done
end
flush()
for _, b in pairs(buckets) do store(b) end
local reply, displaced = standing(now), 0
for _, done in ipairs(settled) do reply[#reply + 1] = done end
for _, e in ipairs(events) do displaced = displaced + select(2, write_event(e, now)) end
if tell then
  local told, others = tell()
  reply[#reply + 1], reply[#reply + 2] = displaced + others, told
else
  reply[#reply + 1] = displaced
end
for _, c in ipairs(A.charges) do
  local _, scopes = scopes_of({team = team_of(c), what = c.what})
  for _, kind in ipairs(INNER) do
    local scope = scopes[kind]
    for _, used in ipairs(scope and scope.counted and scope_used(scope_key(kind, c.day), scope.name) or {}) do reply[#reply + 1] = used end
  end
end
for _, n in ipairs(counts) do reply[#reply + 1] = n end
return reply
