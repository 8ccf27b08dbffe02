package redisstore

import "time"

// Remembered is how long Redis remembers a settled hold, so that a settlement whose reply was lost can be sent again.
const Remembered = 15 * time.Minute

// SettledBytes is how many bytes of Redis's memory a settled hold takes for as long as it is remembered, rounded up from measurements.
const SettledBytes = 40
