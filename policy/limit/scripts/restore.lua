-- Puts back what a replica knows of a team whose accounts are gone. The first to tell what the team used adds it to what was
-- charged since; after that only what is greater counts, because replicas know the same. Holds are put back by their ids:
-- what is there already stays, and what any replica knows to be settled is held no more, whoever told first.
--
-- KEYS  1 quota  2 open  3… hold:<id>
-- ARGV  1 now or 0  2 team  3 an epoch to begin, if there is none  4 a number to say again  5 prefix of ledger keys  6 how many
--       counts of what was used; then each of them: field, amount; then for each hold: id, when its lease ends, or 0 where it was
--       settled, the hold's text
-- Returns the number and the epoch.
local now = clock(ARGV[1])
redis.call('ZCARD', KEYS[2]) -- what is of another type is noticed before anything is written
local epoch = redis.call('HGET', KEYS[1], 'epoch')
local begins = not epoch
if begins then
  epoch = ARGV[3]
  redis.call('HSET', KEYS[1], 'epoch', epoch, 'team', ARGV[2])
end
local first = 7 + 2 * ARGV[6]
for i = 7, first - 1, 2 do
  local known = tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or 0)
  local told = tonumber(ARGV[i + 1])
  if begins then told = told + known end
  if told > known then redis.call('HSET', KEYS[1], ARGV[i], told) end
end
for n = 3, #KEYS do
  local at = first + 3 * (n - 3)
  local id, due, hold = ARGV[at], tonumber(ARGV[at + 1]), read(KEYS[n])
  if due == 0 then
    if hold and hold.state == 'held' then free(hold, four(hold.held)) end
    if not hold or hold.state == 'held' then write(KEYS[n], {state = 'settled'}, LATE) end
  elseif not hold and due > now then
    hold_again(parse(ARGV[at + 2]))
    redis.call('SET', KEYS[n], ARGV[at + 2])
    redis.call('ZADD', KEYS[2], due, id)
  end
end
flush(KEYS[1], KEYS[2], ARGV[5])
return {tonumber(ARGV[4]), tonumber(epoch)}
