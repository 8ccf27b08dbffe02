-- Reads the events after a place.
--
-- ARGV  2 the place, or empty for the oldest event  3 the most events  4 an event's life, ms
-- Returns 1 if some in between may be missing, else 0; then of each event its place, type and data.
local key, from = KEYS[1], string.format('%d', math.max(math.floor(clock() / 1000) - ARGV[4], 0))

local function before(a, b)
  local ams, an = string.match(a, '^(%d+)-(%d+)$')
  local bms, bn = string.match(b, '^(%d+)-(%d+)$')
  ams, an, bms, bn = tonumber(ams), tonumber(an), tonumber(bms), tonumber(bn)
  return ams < bms or ams == bms and an < bn
end

local place, gone = ARGV[2], 0
if redis.call('EXISTS', key) == 0 then return {place == '' and 0 or 1} end
local start = from
if place ~= '' then
  if #redis.call('XRANGE', key, place, place) == 0 then
    gone = 1 -- it was dropped, or belongs to another memory of Redis
  elseif before(place, from .. '-0') and #redis.call('XRANGE', key, '(' .. place, '(' .. from .. '-0', 'COUNT', 1) > 0 then
    gone = 1 -- the life of some events after it has ended
  end
  if not before(place, from .. '-0') then start = '(' .. place end
end
local reply = {gone}
for _, entry in ipairs(redis.call('XRANGE', key, start, '+', 'COUNT', ARGV[3])) do
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = entry[1], entry[2][2], entry[2][4]
end
return reply
