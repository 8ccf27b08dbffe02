-- Adds histograms to steps of one hour, unless this post or a later one of the same process is in the hour already.
-- KEYS  1 the hour
-- ARGV  1 the process  2 the number of its post  3 ms to keep the hour; then for each histogram the field of its series, its step from 0, and
--       itself: a list in MessagePack of the first bucket with a count, and the counts from there on
-- A field has a list of such lists, one for each step up to the last with a count. Returns 1, or 0 if nothing was added.
local process = '@' .. ARGV[1]
local last = redis.call('HGET', KEYS[1], process)
if last and tonumber(last) >= tonumber(ARGV[2]) then return 0 end

local function sum(a, b)
  if #a == 0 then return b end
  if #b == 0 then return a end
  local first, final = math.min(a[1], b[1]), math.max(a[1] + #a, b[1] + #b) - 2
  local both = {first}
  for bucket = first, final do
    local n = 0
    for _, h in ipairs({a, b}) do
      if bucket >= h[1] then n = n + (h[bucket - h[1] + 2] or 0) end
    end
    both[#both + 1] = n
  end
  return both
end

for i = 4, #ARGV, 3 do
  local was, step = redis.call('HGET', KEYS[1], ARGV[i]), tonumber(ARGV[i + 1]) + 1
  local steps = was and cmsgpack.unpack(was) or {}
  for j = #steps + 1, step do steps[j] = {} end
  steps[step] = sum(steps[step], cmsgpack.unpack(ARGV[i + 2]))
  redis.call('HSET', KEYS[1], ARGV[i], cmsgpack.pack(steps))
end
redis.call('HSET', KEYS[1], process, ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
