-- Settles holds of one team with what their requests used, each once. An expired hold was charged as held: the difference is charged. If
-- a hold is unknown because Redis lost it, the charge is posted alone, also once.
--
-- KEYS  1–3 rates  4 quota  5 open  6… hold:<id>, one for each charge
-- ARGV  3 team  4 prefix of ledger keys  5–19 each rate  20 and 21 the epoch and sequence number known; then nine for each charge: id,
--       1 if estimated, day (empty: an unknown hold is left alone), month, model|endpoint, 1 for a task, the amounts as a text, ms to
--       remember the hold, 1 if an unknown hold takes from the rates
-- Returns the team's state, and for each charge 1 if this settled it, 0 if it was settled before, -1 if nothing is known of it; then for
--       each charge whose tag quotas count 1 if that is one of the others, else 0, and what it used of each unit on the day. While a team is restoring nothing is settled, because no replica would know all that is charged meanwhile.
local now, number = clock(ARGV[1]), tonumber(ARGV[2])
local head = redis.call('HMGET', KEYS[4], 'epoch', 'seq', 'restoring')
local epoch = head[1] or '0'
if accounts_lost(epoch, head[2], ARGV[20], ARGV[21]) then return {number, 2, tonumber(epoch), now} end
if restoring(head[3], now) then return {number, 4, tonumber(epoch), now} end
local settled, buckets = {}, {}
for n = 6, #KEYS do
  local at = 22 + 9 * (n - 6)
  local id, estimated = ARGV[at], ARGV[at + 1]
  local hold = read(KEYS[n])
  if not hold and ARGV[at + 2] ~= '' then
    hold = {state = 'none', estimated = '0', task = ARGV[at + 5], rates = ARGV[at + 8] == '1' and '7' or '0', day = ARGV[at + 2], month = ARGV[at + 3], held = '0 0 0 0',
      charged = '0 0 0 0', id = id, team = ARGV[3], what = ARGV[at + 4]}
  end
  local done = 1
  if not hold then
    done = -1
  elseif hold.state == 'settled' then
    done = 0
  else
    local actual, held, charged = four(ARGV[at + 6]), four(hold.held), four(hold.charged)
    if hold.state == 'held' then free(hold, held) end
    local change, doubt = {}, {}
    for i = 1, 4 do
      change[i] = actual[i] - charged[i]
      doubt[i] = (estimated == '1' and actual[i] or 0) - (hold.estimated == '1' and charged[i] or 0)
    end
    post(hold, change, doubt)
    for i = 1, 3 do
      if taken(hold, i) and actual[i] ~= held[i] and ARGV[5 * i] ~= '' then
        local b = buckets[i]
        if not b then
          b = bucket(KEYS[i], redis.call('GET', KEYS[i]), now, 5 * i)
          buckets[i] = b
        end
        if actual[i] > held[i] then take(b, actual[i] - held[i]) else give(b, held[i] - actual[i]) end
      end
    end
    hold.state = 'settled'
    write(KEYS[n], hold, ARGV[at + 7])
  end
  settled[#settled + 1] = done
end
flush(KEYS[4], KEYS[5], ARGV[4])
for i = 1, 3 do
  if buckets[i] then store(buckets[i]) end
end
local reply = standing(number, KEYS[4], now)
for _, done in ipairs(settled) do reply[#reply + 1] = done end
for n = 6, #KEYS do
  local at = 22 + 9 * (n - 6)
  local _, tag, counted = tagged(ARGV[at + 4])
  for _, used in ipairs(counted and tag_used(ARGV[4] .. ARGV[at + 2] .. ':tags', tag) or {}) do reply[#reply + 1] = used end
end
for _, n in ipairs(counts) do reply[#reply + 1] = n end
return reply
