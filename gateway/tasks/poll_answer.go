package tasks

import (
	"strconv"
	"time"

	"sluice/cache"
)

// Source is where a poll's answer came from.
type Source string

// The sources. Queried is also the source of the answer to an encrypted poll, which is not kept.
const (
	Hit       Source = "hit"       // a fresh answer was known
	Queried   Source = "miss"      // the service was queried for this poll
	Collapsed Source = "collapsed" // the service was queried for another poll
	Stale     Source = "stale"     // the service could not be queried, or did not answer
)

// PollAnswer is the answer to a poll.
type PollAnswer struct {
	Claim          cache.Claim // with the answer
	Source         Source
	UpstreamID     string        // of the query; empty: none was made
	UpstreamStatus int           // of the query; 0: none was made, or it failed
	Took           time.Duration // of the query
	End            *End          // that the query settled; nil: none
	NoRate         bool          // no query was made because the account's rate had none left
}

// CacheStatus is the value of the Cache-Status header. ttl is the seconds until the next query, negative if that is overdue. A
// final answer is not queried again; its ttl is the life of the task.
func (t *Tasks) CacheStatus(answer *PollAnswer, age time.Duration, now time.Time) string {
	left := t.config.Interval - age
	if answer.Claim.Final() {
		left = answer.Claim.Created.Add(t.config.TTL).Sub(now)
	}
	switch answer.Source {
	case Hit:
		return string(strconv.AppendInt(append(make([]byte, 0, 32), "sluice;hit;ttl="...), int64((left+time.Second-1)/time.Second), 10))
	case Queried:
		return "sluice;fwd=uri-miss;stored"
	case Collapsed:
		return "sluice;fwd=uri-miss;collapsed"
	}
	return "sluice;hit;ttl=" + strconv.Itoa(min(int(left/time.Second), 0)) + ";detail=stale"
}
