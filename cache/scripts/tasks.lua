-- Reads tasks of a team. KEYS  task:<id>, one for each   A  whole: 0 for what a filter needs, without the body and the counts
-- Returns now, and the fields of each.
local list = {whole(now)}
for i, key in ipairs(KEYS) do
  if A.whole == '1' then
    list[i + 1] = fields(key)
  else
    local h = redis.call('HMGET', key, 'team', 'task', 'claim', 'answer', 'created')
    list[i + 1] = {h[1], h[2], h[3], h[4], '', h[5], h[5], '0', '0', '0', '', ''}
  end
end
return list
