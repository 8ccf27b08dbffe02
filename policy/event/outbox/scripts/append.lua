-- Writes an event that belongs to no settlement.
--
-- ARGV  2 its type  3 its data  4 its life, ms  5 the most events of an owner  then its targets
-- Returns its place, and how many others were dropped.
local e = {type = ARGV[2], data = ARGV[3], keep = ARGV[4], most = ARGV[5], to = {unpack(ARGV, 6)}}
ready_event(e)
return {write_event(e, clock())}
