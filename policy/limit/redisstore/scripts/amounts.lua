-- amounts_of reads a text of amounts, and written writes one.
local function amounts_of(text)
  local list = {}
  for n in string.gmatch(text, '%d+') do list[#list + 1] = tonumber(n) end
  return list
end

local function written(list)
  local texts = {}
  for i, n in ipairs(list) do texts[i] = string.format('%d', n) end
  return table.concat(texts, ' ')
end

-- nothing is no amount of each unit.
local function nothing()
  local list = {}
  for i in ipairs(UNITS) do list[i] = 0 end
  return list
end
