-- Adds counts to minutes of one hour, unless this post or a later one of the same process is in it already.
-- KEYS  1 the hour
-- ARGV  1 the process  2 the number of its post  3 ms to keep the hour; then for each minute its number and its counts, such as
--       "n=12 t=900 throttle/rate=3"
-- Returns 1, or 0 if nothing had to be added.
local process = '@' .. ARGV[1]
local last = redis.call('HGET', KEYS[1], process)
if last and tonumber(last) >= tonumber(ARGV[2]) then return 0 end
for i = 4, #ARGV, 2 do
  local was = redis.call('HGET', KEYS[1], ARGV[i]) or ''
  local sums, names = {}, {}
  for name, n in string.gmatch(was .. ' ' .. ARGV[i + 1], '([^ =]+)=(%-?%d+)') do
    if not sums[name] then
      names[#names + 1], sums[name] = name, 0
    end
    sums[name] = sums[name] + tonumber(n)
  end
  for j, name in ipairs(names) do names[j] = name .. '=' .. string.format('%.0f', sums[name]) end
  redis.call('HSET', KEYS[1], ARGV[i], table.concat(names, ' '))
end
redis.call('HSET', KEYS[1], process, ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
