-- Takes pairs of an owner and a hook for which deliveries may be due: no other caller gets them before the pause is over, or an earlier
-- delivery is written. Other pairs stay: they are of hooks that have no room here, or that another replica has.
--
-- KEYS  1 the index
-- ARGV  1 the time in µs, or 0  2 the pause, ms  3 the most pairs  then the pairs asked for; without an owner: of all owners
-- Returns the moment that the pause ends, then the pairs.
local asked, most = {}, tonumber(ARGV[3])
for i = 4, #ARGV do asked[ARGV[i]] = true end
local now = math.floor(clock() / 1000)
local ends, page = now + ARGV[2], 10000
local taken, early = {}, {}
for from = 0, 9 * page, page do -- of each call: other pairs must not hide those asked for
  local list = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'WITHSCORES', 'LIMIT', from, page)
  for i = 1, #list, 2 do
    local pair = list[i]
    if asked[pair] or asked[string.match(pair, ' (@.*)$') or ''] then
      if #taken < most then taken[#taken + 1] = pair end
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
  reply[#reply + 1] = pair
end
return reply
