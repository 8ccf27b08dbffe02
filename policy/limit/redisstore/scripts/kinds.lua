-- What a row of the ledger used by kind, packed as package price does it (ByKind in by_kind.go). Its field is named by the first six bytes
-- of the SHA-1 of <model>|<endpoint>, because the name itself would take more memory than the value. Of more than 64 bytes the rest is in
-- fields with 2, 3 and so on after that name: a hash with a longer value takes Redis three times the memory.
-- Products are of numbers below 10^6, because Lua counts exactly only to 2^53. A text that is cut off reads as if zeros followed, so that no
-- text stops a charge.
local PIECE, ANY_RATE, MOST = 64, 15, 9007199254740991

-- unpacked adds the lines of a text to a list, which has one line for each kind and size.
local unpacked
do
  local floor, min = math.floor, math.min

  local function amount_of(l)
    local q, rate, zeros = l.quantity, l.rate, l.zeros
    if zeros == ANY_RATE then return l.rest end
    if l.kind == IMAGE then return min(q * rate * 10 ^ zeros, MOST) end
    if zeros >= 6 then return min(q * rate * 10 ^ (zeros - 6), MOST) end
    local per = 10 ^ (6 - zeros)
    local high, low, most, least = floor(q / per), q % per, floor(rate / per), rate % per
    return min(high * rate + low * most + floor(l.rest / per) + floor((low * least + l.rest % per) / per), MOST)
  end

  local function join(l, m)
    local rest
    if l.zeros == m.zeros and l.rate == m.rate then
      rest = l.rest + m.rest
    else
      rest, l.zeros, l.rate = amount_of(l) + amount_of(m), ANY_RATE, 0
    end
    l.quantity, l.rest = min(l.quantity + m.quantity, MOST), min(rest, MOST)
  end

  local function find(list, kind, size)
    for _, l in ipairs(list) do
      if l.kind == kind and l.size == size then return l end
    end
  end

  local function sizes(list)
    local n = 0
    for _, l in ipairs(list) do
      if l.size ~= '' then n = n + 1 end
    end
    return n
  end

  function unpacked(text, list)
    local bytes, at = {string.byte(text, 1, -1)}, 1
    local function number()
      local n, place, byte = 0, 1, nil
      repeat
        byte = bytes[at] or 0
        n, place, at = n + byte % 128 * place, place * 128, at + 1
      until byte < 128
      return min(n, MOST)
    end
    while bytes[at] do
      local l = {kind = bytes[at] % 16, zeros = floor(bytes[at] / 16), size = '', rate = 0, rest = 0}
      at = at + 1
      if l.kind == IMAGE then
        local n = number()
        l.size, at = string.sub(text, at, at + n - 1), at + n
      end
      l.quantity = number()
      if l.zeros ~= ANY_RATE then l.rate = number() end
      if l.zeros == ANY_RATE or l.zeros < 6 and l.kind ~= IMAGE then l.rest = number() end
      local same = find(list, l.kind, l.size)
      if not same and l.size ~= '' and sizes(list) >= SIZES then
        l.size = ''
        same = find(list, l.kind, '')
      end
      if same then join(same, l) else list[#list + 1] = l end
    end
    return list
  end
end

local function packed(list)
  local text = ''
  local bytes
  local function add(n)
    while n >= 128 do
      bytes[#bytes + 1], n = n % 128 + 128, math.floor(n / 128)
    end
    bytes[#bytes + 1] = n
  end
  for _, l in ipairs(list) do
    bytes = {l.kind + 16 * l.zeros}
    if l.kind == IMAGE then
      add(#l.size)
      text, bytes = text .. string.char(unpack(bytes)) .. l.size, {}
    end
    add(l.quantity)
    if l.zeros ~= ANY_RATE then add(l.rate) end
    if l.zeros == ANY_RATE or l.zeros < 6 and l.kind ~= IMAGE then add(l.rest) end
    text = text .. string.char(unpack(bytes))
  end
  return text
end

-- kinds_field is the field of a row.
local function kinds_field(row)
  return (string.gsub(string.sub(redis.sha1hex(row), 1, 12), '..', function(hex) return string.char(tonumber(hex, 16)) end))
end

-- add_kinds adds packed sums to those in a field of a day's ledger.
local function add_kinds(key, field, sums)
  local text, pieces, piece = '', 0, nil
  repeat
    pieces = pieces + 1
    piece = redis.call('HGET', key, pieces == 1 and field or field .. pieces) or ''
    text = text .. piece
  until #piece < PIECE
  local list = unpacked(text, {})
  for _, sum in ipairs(sums) do unpacked(sum, list) end
  text = packed(list)
  local n = 0
  repeat
    piece, n = string.sub(text, n * PIECE + 1, (n + 1) * PIECE), n + 1
    local of = n == 1 and field or field .. n
    if piece ~= '' then redis.call('HSET', key, of, piece) elseif n <= pieces then redis.call('HDEL', key, of) end
  until n >= pieces and #piece < PIECE
end
