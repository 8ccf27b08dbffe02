-- Writes an event unless one of this name was written: the first of all replicas does.
--
-- ARGV  2 its type  3 its data  4 its life, ms  5 the most events of an owner  6 the name  7 how long it is remembered, s  then its targets
-- Returns its place, and how many others were dropped; nothing: one was written before.
local e = {type = ARGV[2], data = ARGV[3], keep = ARGV[4], most = ARGV[5], to = {unpack(ARGV, 8)}}
ready_event(e)
if redis.call('HSETNX', TEAM .. 'firsts', ARGV[6], math.floor(clock() / 1000000)) == 0 then return {} end
redis.call('EXPIRE', TEAM .. 'firsts', ARGV[7])
return {write_event(e, clock())}
