package tasks

import (
	"strconv"
	"time"

	"sluice/cache"
)

// Source is where a poll's answer came from.
type Source string

// The sources.
const (
	Hit       Source = "hit"       // it was known and fresh
	Stored    Source = "miss"      // upstream was asked for this poll
	Collapsed Source = "collapsed" // upstream was asked for another poll
	Stale     Source = "stale"     // upstream could not be asked, or did not answer
)

// Told is what a poll is told.
type Told struct {
	Claim          cache.Claim // with the answer
	Source         Source
	UpstreamID     string        // of the query that was made for it; empty: none was
	UpstreamStatus int           // likewise; 0: none was, or it was not answered
	Took           time.Duration // the query
	End            *End          // that the query heard of and settled; nil: none
}

// CacheStatus is the value of Cache-Status. ttl counts the seconds until the answer is asked for again, from when it should
// have been where it could not be; a final one is not asked for, and lives as long as its task.
func (t *Tasks) CacheStatus(told *Told, age time.Duration, now time.Time) string {
	left := t.config.Interval - age
	if told.Claim.Final() {
		left = told.Claim.Created.Add(t.config.TTL).Sub(now)
	}
	switch told.Source {
	case Hit:
		return string(strconv.AppendInt(append(make([]byte, 0, 32), "sluice;hit;ttl="...), int64((left+time.Second-1)/time.Second), 10))
	case Stored:
		return "sluice;fwd=uri-miss;stored"
	case Collapsed:
		return "sluice;fwd=uri-miss;collapsed"
	}
	return "sluice;hit;ttl=" + strconv.Itoa(min(int(left/time.Second), 0)) + ";detail=stale"
}
