-- Keeps a process's report about itself, and returns the reports of all processes. Each begins with its time in milliseconds.
--
-- KEYS  1 the report of each process
-- ARGV  1 the process  2 its report, '' if it stops  3 milliseconds after which a silent one is forgotten
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
