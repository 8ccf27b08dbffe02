-- Remembers a name with a limit, and writes an event, unless the name is remembered already: so only the first replica does it.
--
-- ARGV  2 the event's type; empty: none is written  3 its data  4 its life, ms  5 the most events of an owner  6 the name
--       7 how long it is remembered, s  8 the limit  9 0: only a name that is not remembered counts as new; 1: also one with a smaller limit;
--       2: one with a smaller limit of the other parity, where the limit of a name that is not remembered is 0  then the event's targets
-- Returns the event's place, and how many older events were dropped; 1 without an event; nothing: the name is not new.
local e = ARGV[2] ~= '' and {type = ARGV[2], data = ARGV[3], keep = ARGV[4], most = ARGV[5], to = {unpack(ARGV, 10)}}
if e then ready_event(e) end
local known = redis.call('HGET', TEAM .. 'firsts', ARGV[6])
local before, limit = tonumber(known or 0), tonumber(ARGV[8])
local new = not known or ARGV[9] == '1' and before < limit
if ARGV[9] == '2' then new = before < limit and before % 2 ~= limit % 2 end
if not new then return {} end
redis.call('HSET', TEAM .. 'firsts', ARGV[6], ARGV[8])
redis.call('EXPIRE', TEAM .. 'firsts', ARGV[7])
if not e then return {1} end
return {write_event(e, clock())}
