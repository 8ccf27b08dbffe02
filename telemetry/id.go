package telemetry

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

// NewID returns a UUID of version 7 in lower case: the time in milliseconds, which gives the age of a hold, and 74 random
// bits. They must be unique and need not be secret, so the runtime's generator (ChaCha8, seeded by the system) serves.
func NewID(ms int64) string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], uint64(ms)<<16|rand.Uint64()&0x0fff|0x7000)
	binary.BigEndian.PutUint64(id[8:], rand.Uint64()>>2|1<<63)
	var s [36]byte
	hex.Encode(s[0:8], id[0:4])
	hex.Encode(s[9:13], id[4:6])
	hex.Encode(s[14:18], id[6:8])
	hex.Encode(s[19:23], id[8:10])
	hex.Encode(s[24:36], id[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}
