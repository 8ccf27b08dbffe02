-- Takes pairs of an owner and a hook for which deliveries may be due: no other caller gets them before the pause is over, or an earlier
-- delivery is written. Other pairs stay: their hooks have no room here, or are another replica's.
--
-- A pair also stays while its hook has as many deliveries under way as it may have, and if as many pairs as the hook has seats were taken
-- before it: each of them may use one. The caller gets seats for the deliveries that it may
-- take, under its own name until it reports what it has taken (marked.lua).
--
-- KEYS  1 the index  2 the prefix of the keys of seats
-- ARGV  2 the pause, ms  3 the most pairs  4 the most deliveries to a hook at a time  5 for how long one counts, ms  6 the call's name
--       7 the number of hosts, and the most deliveries to each  then of each pair asked for: its name, which without an owner stands for
--       all owners, the most deliveries to its hook, and its host's number; 0: no host bounds it
-- Returns when the pause ends, then the pairs, and how many seats the hook of each got.
local asked, seats, pairs_of, hosts, host_of, most = {}, {}, {}, {}, {}, tonumber(ARGV[3])
for i = 1, ARGV[7] do hosts[i] = tonumber(ARGV[7 + i]) end
for i = 8 + ARGV[7], #ARGV, 3 do asked[ARGV[i]], host_of[ARGV[i]] = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]) end
local now = math.floor(clock() / 1000)
local ends, page = now + ARGV[2], 10000
local taken, early = {}, {}
-- hook_of is the name by which a pair's hook is asked for; nil: it is not.
local function hook_of(pair)
  local of_all = string.match(pair, ' (@.*)$')
  return asked[pair] and pair or of_all and asked[of_all] and of_all
end

-- seat gets seats for a hook, and returns how many. It gets none while its host has no room.
local function seat(hook)
  local host = host_of[hook]
  if not seats[hook] then
    if hosts[host] == 0 then return 0 end
    local key = KEYS[2] .. hook
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    seats[hook] = math.max(0, math.min(asked[hook], hosts[host] or asked[hook], ARGV[4] - redis.call('ZCARD', key)))
    if hosts[host] then hosts[host] = hosts[host] - seats[hook] end
    for i = 1, seats[hook] do redis.call('ZADD', key, now + ARGV[5], ARGV[6] .. ' ' .. i) end
    if seats[hook] > 0 then redis.call('PEXPIRE', key, ARGV[5]) end
  end
  return seats[hook]
end

for from = 0, 9 * page, page do -- in pages: other pairs must not hide those asked for
  local list = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'WITHSCORES', 'LIMIT', from, page)
  for i = 1, #list, 2 do
    local pair = list[i]
    local hook = hook_of(pair)
    if hook then
      local n = (pairs_of[hook] or 0) + 1
      if #taken < most and n <= seat(hook) then taken[#taken + 1], pairs_of[hook] = pair, n end
    elseif list[i + 1] == '0' then -- its writer did not know Redis's time
      early[#early + 1] = pair
    end
  end
  if #list < 2 * page or #taken == most then break end
end
for _, pair in ipairs(early) do redis.call('ZADD', KEYS[1], now, pair) end
local reply = {ends}
for _, pair in ipairs(taken) do
  redis.call('ZADD', KEYS[1], ends, pair)
  reply[#reply + 1], reply[#reply + 2] = pair, seats[hook_of(pair)]
end
return reply
