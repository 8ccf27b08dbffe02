-- Adds entries of a team to those that are known of it, and drops its oldest if they are more than its share.
-- KEYS  1 the stream of the teams' lines  2 a list: the team's entries by their ids, the oldest first  3 a set: the teams with lines
-- ARGV  1 how many lines are kept of a single team  2 how many while others have lines  3 ms to keep the list; then the ids
-- Returns how many it dropped.
for i = 4, #ARGV, 1000 do redis.call('RPUSH', KEYS[2], unpack(ARGV, i, math.min(i + 999, #ARGV))) end
redis.call('PEXPIRE', KEYS[2], ARGV[3])
local most = ARGV[1]
if redis.call('SCARD', KEYS[3]) > 1 then most = ARGV[2] end
local over = redis.call('LLEN', KEYS[2]) - tonumber(most)
if over <= 0 then return 0 end
local ids = redis.call('LPOP', KEYS[2], over)
for i = 1, over, 1000 do redis.call('XDEL', KEYS[1], unpack(ids, i, math.min(i + 999, over))) end
return over
