-- Notes when keys were last used. An earlier hour never replaces a later one; hour 0 forgets a key.
--
-- KEYS  1 hours since 1970 by key
-- ARGV  a key and its hour, and so on
for i = 1, #ARGV, 2 do
  if ARGV[i + 1] == '0' then
    redis.call('HDEL', KEYS[1], ARGV[i])
  elseif tonumber(ARGV[i + 1]) > tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or 0) then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
return 0
