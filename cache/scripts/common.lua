-- Every script begins with this. Times are in microseconds by Redis's own clock, so that the clocks of replicas do not matter.
-- ARGV  names and values in turn, which A has by name. A value is any bytes: the body of an answer is one.
local A = {}
for i = 1, #ARGV, 2 do A[ARGV[i]] = ARGV[i + 1] end
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])

-- whole writes a number in digits; Lua would write 1e+15.
local function whole(n) return string.format('%.0f', tonumber(n)) end

-- fields returns the fields that readClaim in redis_store.go reads, in this order; of an absent task each is nil.
local function fields(key)
  local f = redis.call('HMGET', key, 'team', 'task', 'claim', 'answer', 'body', 'created', 'fetched', 'asks', 'served', 'sent', 'written',
    'streamed')
  f[12] = f[12] or f[1] and ''
  return f
end

-- is_of reports whether a claim is of a hold. Two replicas may have claimed a task while Redis was away.
local function is_of(claim, hold)
  local its = cjson.decode(claim).Hold
  return (type(its) == 'table' and its.ID or '') == hold
end

-- memory describes this memory of Redis: when it began, how many claims were written to it, how long ago one was restored.
local function memory(key)
  local m = redis.call('HMGET', key, 'epoch', 'count', 'back')
  return {m[1], m[2], m[3] and whole(now - m[3])}
end
