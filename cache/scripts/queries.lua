-- Decides whether a team may query the service now, as fair in queries.go does.
-- KEYS  1 queries: a set of wishes, "granted team number", by their moment
-- A  rate: how many in a window  window: how long that is  team  spare: 1 if only a query that no client is likely to want is granted  unique: a text
-- Returns 1 or 0.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - A.window)
local rate, team = tonumber(A.rate), A.team
local used, teams, granted, waits, waiting = {[team] = 0}, 1, 0, false, 0
for _, wish in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local ok, who = string.match(wish, '^(%d) (%S+) ')
  if not used[who] then
    used[who] = 0
    teams = teams + 1
  end
  if ok == '1' then
    used[who] = used[who] + 1
    granted = granted + 1
  elseif who == team then
    waits = true
  else
    waiting = waiting + 1
  end
end
local free, share, reserved = rate - granted, math.max(math.floor(rate / teams), 1), 0
for who, n in pairs(used) do
  if who ~= team then reserved = reserved + math.max(share - n, 0) end
end
local allowed
if A.spare == '1' then
  allowed = free > waiting + math.floor(rate / 4)
else
  allowed = free > 0 and (used[team] < share or free > reserved)
end
if allowed or A.spare ~= '1' and not waits then redis.call('ZADD', KEYS[1], now, (allowed and '1 ' or '0 ') .. team .. ' ' .. A.unique) end
redis.call('PEXPIRE', KEYS[1], 60000)
return allowed and 1 or 0
