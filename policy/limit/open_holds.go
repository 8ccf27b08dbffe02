package limit

import (
	"encoding/hex"
	"errors"
	"time"
)

// OpenHolds are the holds of requests in flight and of tasks that are not settled.
type OpenHolds struct {
	Count  int
	Oldest time.Time // when the oldest was made; zero: none is open, or the ids do not contain the time
	Tasks  int64     // how many are tasks, if Redis reported it
}

// Note counts one more hold. since is when it was made; zero: unknown.
func (o *OpenHolds) Note(since time.Time) {
	o.Count++
	o.age(since)
}

func (o *OpenHolds) age(since time.Time) {
	if !since.IsZero() && (o.Oldest.IsZero() || since.Before(o.Oldest)) {
		o.Oldest = since
	}
}

// Add adds other holds.
func (o *OpenHolds) Add(more OpenHolds) {
	o.Count += more.Count
	o.age(more.Oldest)
}

// MadeAt reads from a hold's id when it was made, to the millisecond. Request ids are UUIDs of version 7, which begin with that time;
// for any other id it returns zero. A separate field would cost every admission a write and a read, and is needed only once a minute.
func MadeAt(id string) time.Time {
	if id = RequestOf(id); len(id) != 36 || id[14] != '7' {
		return time.Time{}
	}
	var ms int64
	b, err := hex.DecodeString(id[:8] + id[9:13])
	if err != nil {
		return time.Time{}
	}
	for _, n := range b {
		ms = ms<<8 | int64(n)
	}
	return time.UnixMilli(ms)
}

// ErrUncounted is the error of Holds until the holds have been counted.
var ErrUncounted = errors.New("the open holds were not counted yet")
