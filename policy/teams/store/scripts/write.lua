-- Writes a document and the entry of its audit, if no other change was faster. Entries that are too old are removed; "first" is
-- raised only with them, so that an entry that is missing for another reason is noticed, until it would be too old itself.
--
-- KEYS  1 the directory  2 the audit, a stream  3 bytes of the day's entries by team
-- ARGV  1 the head that is expected, '' for none  2 the document  3 the entry  4 its head  5 its number  6 the first number
--       7 milliseconds to keep an entry  8 the team that it is about, '' for none
--       9 the raises, '' for none. Versions before them leave the field as it is
-- Returns 1, or 0 if the head differs.
local is = redis.call('HMGET', KEYS[1], 'head', 'first')
if (is[1] or '') ~= ARGV[1] then return 0 end
local first = is[2] or ARGV[6]
redis.call('XADD', KEYS[2], '*', 'seq', ARGV[5], 'entry', ARGV[3])
if ARGV[8] ~= '' then
  redis.call('HINCRBY', KEYS[3], ARGV[8], #ARGV[3])
  redis.call('PEXPIRE', KEYS[3], 172800000)
end
local since = redis.call('TIME')[1] * 1000 - ARGV[7]
local oldest = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)[1][1]
if tonumber(string.match(oldest, '^%d+')) < since then
  redis.call('XTRIM', KEYS[2], 'MINID', string.format('%.0f', since))
  first = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)[1][2][2]
end
redis.call('HSET', KEYS[1], 'document', ARGV[2], 'entry', ARGV[3], 'head', ARGV[4], 'first', first)
if ARGV[9] ~= '' then redis.call('HSET', KEYS[1], 'raises', ARGV[9]) end
return 1
