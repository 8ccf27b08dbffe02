-- Settles holds of one team and day that are unchanged since they were admitted. The caller sends the sums of the changes, so this script
-- parses no hold's text. If one hold has changed, or the ledger is nearly full, it does nothing, and settle.lua settles them one by one.
--
-- KEYS  1 quota  2 open  3 the day's ledger  then use:<day>:<kind> for each kind of scopes inside the team, rate:<unit> for each rate that
--       changes, then hold:<id> for each charge, none twice
-- ARGV  3 the day  4 its end, µs  5 number of counts of quota  6 and 7 the epoch and sequence number known  8 number of rates
--       9 number of rows of the ledger that have kinds  10 number of kinds of scopes
--       11 the thresholds of quotas to be announced, in JSON (reached.lua), or empty
--       then each rate, and how long what is taken from it, and what is given back, takes to refill
--       then the id of each charge, then the text of each hold as it was admitted
--       then for each kind of scopes the number of fields that must exist, because the day must know the names, and twice the number of
--       counts; then these fields, and of each count its field and amount
--       then the fields of quota's counts, their amounts, of each row of the ledger that has kinds their field and what is added to them
--       (kinds.lua), and of each count of the ledger its field and amount
-- Returns 1 if all were settled, else 0; epoch, sequence number, and the new counts of quota and of the scopes; with thresholds also how
--       many events announce them, and how many older events these displaced.
local call, now = redis.call, clock()
local rates, counts, inside = tonumber(ARGV[8]), tonumber(ARGV[5]), tonumber(ARGV[10])
local keys = 3 + inside
local charges, ids = #KEYS - keys - rates, 12 + 7 * rates
local scopes = ids + 2 * charges
local first = scopes
for _ = 1, inside do first = first + 2 + ARGV[first] + ARGV[first + 1] end
local kinds = first + 2 * counts
local rest = kinds + 2 * ARGV[9]
local head = call('HMGET', KEYS[1], 'epoch', 'seq', 'restoring', unpack(ARGV, first, first + counts - 1))
local epoch, seq = head[1] or '0', tonumber(head[2] or 0)
if accounts_lost(epoch, seq, ARGV[6], ARGV[7]) then return {NUMBER, 2, tonumber(epoch), seq} end
if restoring(head[3], now) then return {NUMBER, 4, tonumber(epoch), seq} end
local texts = call('MGET', unpack(KEYS, keys + 1 + rates))
for n = 1, charges do
  if texts[n] ~= ARGV[ids + charges + n - 1] then return {NUMBER, 0, tonumber(epoch), seq} end
end
call('ZCARD', KEYS[2])
local at = scopes
for k = 1, inside do
  local fields = tonumber(ARGV[at])
  local got = call('HMGET', KEYS[3 + k], unpack(ARGV, at + 2, at + 1 + fields))
  for i = 1, fields do
    if not got[i] then return {NUMBER, 0, tonumber(epoch), seq} end
  end
  at = at + 2 + fields + ARGV[at + 1]
end
local size = call('HLEN', KEYS[3])
if size + (#ARGV - kinds + 1) / 2 > 4000 then return {NUMBER, 0, tonumber(epoch), seq} end
local buckets = {}
for i = 1, rates do
  local at, key = 5 + 7 * i, KEYS[keys + i]
  local b = bucket(key, call('GET', key), now, ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), ARGV[at + 4])
  move(b, tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6]))
  buckets[i] = b
end
local tell = ARGV[11] ~= '' and reached(cjson.decode(ARGV[11]), now)
local reply, holding = {NUMBER, 1, tonumber(epoch), seq + 1}, {'seq', string.format('%d', seq + 1)}
for i = 1, counts do
  local n = (head[3 + i] or 0) + ARGV[first + counts + i - 1]
  reply[4 + i], holding[2 * i + 1], holding[2 * i + 2] = n, ARGV[first + i - 1], string.format('%d', n)
end

call('HSET', KEYS[1], unpack(holding))
if now >= tonumber(ARGV[4]) then call('HINCRBY', KEYS[1], 'past', 1) end -- as note_past in holds.lua
local notes, may = {}, true
for n = 1, charges do
  local minute, note = noted(ARGV[ids + n - 1])
  notes[minute] = (notes[minute] or '') .. note
end
for minute, text in pairs(notes) do
  may = may and type(redis.pcall('APPEND', minute, text)) == 'number' -- the previous version's ACL does not permit APPEND
  if may then call('PEXPIRE', minute, REMEMBERED) end
end
if may then call('DEL', unpack(KEYS, keys + rates + 1)) end
for n = 1, may and 0 or charges do call('SET', KEYS[keys + rates + n], SETTLED, 'PX', REMEMBERED) end
call('ZREM', KEYS[2], unpack(ARGV, ids, ids + charges - 1))
if size == 0 then
  call('HSET', KEYS[3], 'day', ARGV[3])
  call('EXPIRE', KEYS[3], '34560000')
end
for at = kinds, rest - 1, 2 do add_kinds(KEYS[3], ARGV[at], {ARGV[at + 1]}) end
for at = rest, #ARGV, 2 do call('HINCRBY', KEYS[3], ARGV[at], ARGV[at + 1]) end
at = scopes
for k = 1, inside do
  local from = at + 2 + ARGV[at]
  at = from + ARGV[at + 1]
  for i = from, at - 1, 2 do
    local n = call('HINCRBY', KEYS[3 + k], ARGV[i], ARGV[i + 1])
    reply[#reply + 1] = n
    if n <= 0 and string.sub(ARGV[i], -5) == '|held' then call('HDEL', KEYS[3 + k], ARGV[i]) end
  end
end
for _, b in ipairs(buckets) do store(b) end
if tell then reply[#reply + 1], reply[#reply + 2] = tell() end
return reply
