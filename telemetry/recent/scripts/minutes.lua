-- Adds counts to minutes of one hour and to its day, unless this post or a later one of the same process is in the hour already.
-- KEYS  1 the hour  2 the day
-- ARGV  1 the process  2 the number of its post  3 ms to keep both  4 the counts for the day; then for each minute its number and
--       its counts, such as "n=12 o=900 throttle/rate=3"
-- Returns 1, or 0 if nothing was added.
local process = '@' .. ARGV[1]
local last = redis.call('HGET', KEYS[1], process)
if last and tonumber(last) >= tonumber(ARGV[2]) then return 0 end

local function add(key, field, more)
  local was = redis.call('HGET', key, field) or ''
  local sums, names = {}, {}
  for name, n in string.gmatch(was .. ' ' .. more, '([^ =]+)=(%-?%d+)') do
    if not sums[name] then
      names[#names + 1], sums[name] = name, 0
    end
    sums[name] = sums[name] + tonumber(n)
  end
  for i, name in ipairs(names) do names[i] = name .. '=' .. string.format('%.0f', sums[name]) end
  redis.call('HSET', key, field, table.concat(names, ' '))
end

redis.call('HLEN', KEYS[2]) -- a key of another type fails before anything is written
for i = 5, #ARGV, 2 do add(KEYS[1], ARGV[i], ARGV[i + 1]) end
add(KEYS[2], 'all', ARGV[4])
redis.call('HSET', KEYS[1], process, ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1
