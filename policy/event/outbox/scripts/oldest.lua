-- Returns for each hook when the oldest event that waits for it was written, ms; 0: none waits. Of very many deliveries it reads those that
-- are due first, which include the oldest that was never tried, and those that are due last, because the tries of older ones are further
-- apart.
--
-- ARGV  2 an event's life, ms  3 how many deliveries it reads at each end  then the hooks
local ends, most, reply = math.floor(clock() / 1000) - ARGV[2], tonumber(ARGV[3]), {}
for i = 4, #ARGV do
  local due, oldest = TEAM .. 'due:' .. ARGV[i], 0
  local function look(first, last)
    for _, member in ipairs(redis.call('ZRANGE', due, string.format('%d', first), string.format('%d', last))) do
      local at = tonumber((string.match(member, '^%d+')))
      if at >= ends and (oldest == 0 or at < oldest) then oldest = at end
    end
  end
  local n = redis.call('ZCARD', due)
  look(0, most - 1)
  if n > most then look(math.max(most, n - most), -1) end
  reply[#reply + 1] = oldest
end
return reply
