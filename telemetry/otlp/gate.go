package otlp

import (
	"regexp"
	"strconv"
	"sync/atomic"
)

// Gate bounds what waits to be sent, and counts what is lost, by why. The SDK's own queue of log records drops as well, but
// does not tell how much; nothing gets to it that it would have to drop.
type Gate struct {
	most    int64
	waiting atomic.Int64
	full    atomic.Int64 // found no room
	refused atomic.Int64 // the collector did not take them, or was not there
}

// Full returns how many items found no room.
func (g *Gate) Full() int64 { return g.full.Load() }

// Refused returns how many items a collector refused, or did not take because it was away.
func (g *Gate) Refused() int64 { return g.refused.Load() }

func newGate(most int64) *Gate { return &Gate{most: most} }

// enter reports whether there is room for one more; what finds none is lost.
func (g *Gate) enter() bool {
	if g.waiting.Add(1) <= g.most {
		return true
	}
	g.turnAway()
	return false
}

// turnAway takes back an enter: there was no room after all.
func (g *Gate) turnAway() {
	g.waiting.Add(-1)
	g.full.Add(1)
}

// leave tells that n are out, sent or lost, and returns how many are lost.
func (g *Gate) leave(n int, err error) (lost int64) {
	g.waiting.Add(int64(-n))
	if err != nil {
		lost = rejected(err, int64(n))
		g.refused.Add(lost)
	}
	return lost
}

// rejections is how exporters say that a collector took a part of a batch. They have no type for it.
var rejections = regexp.MustCompile(`(?s)partial success: .*\((\d+) [a-z ]+ rejected\)`)

// rejected is how many of a batch of n are lost.
func rejected(err error, n int64) int64 {
	if said := rejections.FindStringSubmatch(err.Error()); said != nil {
		if some, bad := strconv.ParseInt(said[1], 10, 64); bad == nil {
			return min(some, n)
		}
	}
	return n
}
