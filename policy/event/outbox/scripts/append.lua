-- Writes an event that belongs to no settlement.
--
-- ARGV  2 the event, as JSON
-- Returns its place, and how many others were dropped.
local e = cjson.decode(ARGV[2])
ready_event(e)
return {write_event(e, clock())}
