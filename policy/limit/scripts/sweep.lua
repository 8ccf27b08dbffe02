-- Charges holds whose lease has ended, and forgets what nobody asks for any more: periods that are over, and that nothing is
-- held of a day. Redis searches a small hash from its beginning, so each field that is left makes all admissions slower.
-- KEYS  1 quota  2 open   ARGV  1 now or 0  2 most holds  3 prefix of hold keys  4 prefix of ledger keys  5 a number to say again
-- Returns the number and how many holds were due.
local now = clock(ARGV[1])
local due = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, ARGV[2])
sweep(KEYS[1], KEYS[2], ARGV[3], ARGV[4], due)
local today = periods(now)
local week, season = tonumber((periods(now - 8 * DAY))), tonumber((periods(now - 70 * DAY)))
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  local period, what = string.match(fields[i], '^(%d+):%a+:(%a+)$')
  if period and period ~= today then
    local ends, over = tonumber(period), season
    if #period == 6 then ends = ends * 100 + 31 elseif what == 'used' then over = week end
    if ends < over or #period == 8 and what == 'held' and fields[i + 1] == '0' then redis.call('HDEL', KEYS[1], fields[i]) end
  end
end
return {tonumber(ARGV[5]), #due}
