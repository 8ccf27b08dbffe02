-- Takes pairs of an owner and a hook for which deliveries may be due: no other caller gets them before the pause is over, or an earlier
-- delivery is written.
--
-- KEYS  1 the index
-- ARGV  1 the time in µs, or 0  2 the pause, ms  3 the most pairs  4 how long a pair that nobody asks for stays, ms  then the pairs asked for;
--       without an owner: of all owners
-- Returns the moment that the pause ends, then the pairs.
local asked = {}
for i = 5, #ARGV do asked[ARGV[i]] = true end
local now = tonumber(ARGV[1])
if now <= 0 then
  local t = redis.call('TIME')
  now = tonumber(t[1]) * 1000000 + tonumber(t[2])
end
now = math.floor(now / 1000)
local ends = now + ARGV[2]
local reply, list = {ends}, redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'WITHSCORES', 'LIMIT', 0, 10000)
for i = 1, #list, 2 do
  local pair = list[i]
  if asked[pair] or asked[string.match(pair, ' (@.*)$') or ''] then
    if #reply > tonumber(ARGV[3]) then break end
    redis.call('ZADD', KEYS[1], ends, pair)
    reply[#reply + 1] = pair
  elseif list[i + 1] == '0' then -- its writer did not know Redis's time
    redis.call('ZADD', KEYS[1], now, pair)
  elseif list[i + 1] + ARGV[4] < now then
    redis.call('ZREM', KEYS[1], pair)
  end
end
return reply
