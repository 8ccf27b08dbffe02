-- Charges holds whose lease has ended, and forgets periods that nobody asks for any more.
-- KEYS  1 quota  2 open   ARGV  1 now or 0  2 most holds  3 prefix of hold keys  4 prefix of ledger keys  5 a number to say again
-- Returns the number and how many holds were due.
local now = clock(ARGV[1])
local due = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, ARGV[2])
sweep(KEYS[1], KEYS[2], ARGV[3], ARGV[4], due)
local oldest = tonumber((periods(now - 70 * 86400000000)))
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  local period = string.match(field, '^(%d+):')
  if period then
    local day = tonumber(period)
    if #period == 6 then day = day * 100 + 31 end
    if day < oldest then redis.call('HDEL', KEYS[1], field) end
  end
end
return {tonumber(ARGV[5]), #due}
