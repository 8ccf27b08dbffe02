-- Keeps what a process says of itself, and returns what all processes say. The time stands before each, in milliseconds.
--
-- KEYS  1 what each process says
-- ARGV  1 the process  2 what it says, '' if it stops  3 milliseconds after which a silent one is forgotten
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f ', now) .. ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
local all, said = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #all, 2 do
  local at, text = string.match(all[i + 1], '^(%d+) (.*)$')
  if not at or now - at > tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], all[i])
  else
    said[#said + 1] = text
  end
end
return said
