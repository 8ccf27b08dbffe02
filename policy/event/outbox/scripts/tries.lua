-- The rows of deliveries' tries: "<state> <tries> <code> <last, ms> <next, ms>". A delivery without a row waits and was not tried yet. A row
-- is dropped with its event.

-- tried_key is the key of the rows of a day's events.
local function tried_key(place) return TEAM .. 'tried:' .. string.format('%d', math.floor(string.match(place, '^%d+') / 86400000)) end

local function tried_field(place, target) return place .. ' ' .. target end
