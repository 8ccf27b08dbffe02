-- Lists the deliveries of an owner's newest events.
--
-- ARGV  2 the most deliveries  3 the prefix of the targets; empty: all  4 an event's life, ms  5 the place of the only event to list; empty: all events
-- Returns of each its event's place and type, the target, and the row of its tries, or empty.
local from, most, reply = math.max(math.floor(clock() / 1000) - ARGV[4], 0), tonumber(ARGV[2]), {}
local last, pages = '+', 20 -- of 100 events: some have no targets
if ARGV[5] == '' then
  from = string.format('%d', from)
elseif tonumber((string.match(ARGV[5], '^%d+'))) < from then
  return reply
else
  from, last = ARGV[5], ARGV[5]
end
while last and pages > 0 and #reply < 4 * most do
  local list = redis.call('XREVRANGE', KEYS[1], last, from, 'COUNT', 100)
  pages, last = pages - 1, list[100] and '(' .. list[100][1]
  for _, entry in ipairs(list) do
    for target in string.gmatch(entry[2][6], '[^\n]+') do
      if #reply < 4 * most and string.sub(target, 1, #ARGV[3]) == ARGV[3] then
        local tried = redis.call('HGET', tried_key(entry[1]), tried_field(entry[1], target))
        for _, of in ipairs({entry[1], entry[2][2], target, tried or ''}) do reply[#reply + 1] = of end
      end
    end
  end
end
return reply
