-- Lists a team's newest tasks that the service still knows, newest first.
-- KEYS  1 tasks   ARGV  1 microseconds that a task is known  2 made before this moment, in microseconds; 0: any  3 how many at most
-- Returns the id of each and when it was made, in turn.
local t = redis.call('TIME')
local first = string.format('%.0f', tonumber(t[1]) * 1000000 + tonumber(t[2]) - tonumber(ARGV[1]))
local last = ARGV[2] == '0' and '+inf' or '(' .. ARGV[2]
return redis.call('ZRANGE', KEYS[1], last, first, 'BYSCORE', 'REV', 'LIMIT', 0, ARGV[3], 'WITHSCORES')
