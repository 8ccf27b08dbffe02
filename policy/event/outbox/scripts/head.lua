-- KEYS  1 an owner's events, from which its other keys follow: all are in its slot
local TEAM = string.sub(KEYS[1], 1, -7) -- "events" has six letters
