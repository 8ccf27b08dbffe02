package event

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
	"time"
)

// ID names an event. It consists of the event's owner and its place among the owner's events: the millisecond in which
// it was written, and its number in that millisecond. So events are found by their place, without an index of ids.
type ID struct {
	Owner  string // a team, or [Operators]
	Millis int64  // since 1970, below 2⁴⁸
	Number uint16 // from 0
}

// ErrID is the error for a text that is not an id of an event of its owner.
var ErrID = errors.New("not an id of an event of this team")

// ErrGone is the error for an event that is no longer kept.
var ErrGone = errors.New("the event is no longer kept")

// ErrNoHooks is the error for an event that is kept but was only for streams.
var ErrNoHooks = errors.New("the event was for no hook")

const (
	idMark = "evt_"
	digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // a ULID's: Crockford's base 32
	length = 26
)

// String is evt_ and a ULID: 48 bits of the time, 16 of the number, and 64 of the owner's hash.
func (id ID) String() string {
	high, low := uint64(id.Millis)<<16|uint64(id.Number), mark(id.Owner)
	var text [length]byte
	for i := length - 1; i >= 0; i-- {
		text[i] = digits[low&31]
		low, high = low>>5|high<<59, high>>5
	}
	return idMark + string(text[:])
}

// ParseID reads the id of an event of an owner. Its error is [ErrID].
func ParseID(text, owner string) (ID, error) {
	text, marked := strings.CutPrefix(text, idMark)
	if !marked || len(text) != length || text[0] > '7' {
		return ID{}, ErrID
	}
	var high, low uint64
	for i := range length {
		digit := strings.IndexByte(digits, text[i])
		if digit < 0 {
			return ID{}, ErrID
		}
		high, low = high<<5|low>>59, low<<5|uint64(digit)
	}
	if low != mark(owner) {
		return ID{}, ErrID
	}
	return ID{owner, int64(high >> 16), uint16(high)}, nil
}

// Before reports whether an event was written before another of its owner.
func (id ID) Before(other ID) bool {
	return id.Millis < other.Millis || id.Millis == other.Millis && id.Number < other.Number
}

func mark(owner string) uint64 {
	sum := sha256.Sum256([]byte(owner))
	return binary.BigEndian.Uint64(sum[:8])
}

// Time is when the event was written, to the millisecond.
func (id ID) Time() time.Time { return time.UnixMilli(id.Millis).UTC() }
