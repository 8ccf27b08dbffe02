-- Settles holds of one team with what their requests used, each once. A hold whose lease has ended was charged as
-- estimated: the truth corrects that. Where a hold is unknown because the state lost it, the charge is posted on its own,
-- also once.
--
-- KEYS  1–3 rates  4 quota  5 open  6… hold:<id>, one for each charge
-- ARGV  1 now or 0  2 team  3 a number to say again  4 prefix of ledger keys  5–19 each rate; then nine for each charge: id,
--       1 if estimated, 2 if only its lease has ended and the truth may come, day (empty: an unknown hold is left alone),
--       month, model|endpoint, 1 for a task, the amounts as a text, what is taken from the rates as a text (empty: the
--       amounts), ms to remember the hold where it is no task's
-- Returns the number, and for each charge 1 if this settled it, 0 if it was settled before, -1 if nothing is known of it.
local now = clock(ARGV[1])
local reply, buckets = {tonumber(ARGV[3])}, {}
for n = 6, #KEYS do
  local at = 20 + 9 * (n - 6)
  local id, estimated, lapsed = ARGV[at], ARGV[at + 1], ARGV[at + 1] == '2'
  local hold = read(KEYS[n])
  if not hold and ARGV[at + 2] ~= '' then
    hold = {state = 'none', estimated = '0', task = ARGV[at + 5], rates = '7', day = ARGV[at + 2], month = ARGV[at + 3], held = '0 0 0 0',
      charged = '0 0 0 0', id = id, team = ARGV[2], what = ARGV[at + 4]}
  end
  local done = 1
  if not hold then
    done = -1
  elseif hold.state == 'settled' or lapsed and hold.state == 'expired' then
    done = 0
  else
    local actual, held, charged = four(ARGV[at + 6]), four(hold.held), four(hold.charged)
    local rated = ARGV[at + 7] ~= '' and four(ARGV[at + 7]) or actual
    if hold.state == 'held' then free(hold, held) end
    local change, doubt = {}, {}
    for i = 1, 4 do
      change[i] = actual[i] - charged[i]
      doubt[i] = (estimated ~= '0' and actual[i] or 0) - (hold.estimated == '1' and charged[i] or 0)
    end
    post(hold, change, doubt)
    for i = 1, 3 do
      if taken(hold, i) and rated[i] ~= held[i] and ARGV[5 * i] ~= '' then
        local b = buckets[i]
        if not b then
          b = bucket(KEYS[i], redis.call('GET', KEYS[i]), now, 5 * i)
          buckets[i] = b
        end
        if rated[i] > held[i] then take(b, rated[i] - held[i]) else give(b, held[i] - rated[i]) end
      end
    end
    if lapsed then hold.held = ARGV[at + 6] end -- taken from the rates as if it had been held
    hold.state, hold.estimated, hold.charged = lapsed and 'expired' or 'settled', estimated == '0' and '0' or '1', ARGV[at + 6]
    write(KEYS[n], hold, hold.task == '1' and LATE or ARGV[at + 8]) -- of a task's end another replica may hear late
  end
  reply[#reply + 1] = done
end
flush(KEYS[4], KEYS[5], ARGV[4])
for i = 1, 3 do
  if buckets[i] then store(buckets[i]) end
end
return reply
