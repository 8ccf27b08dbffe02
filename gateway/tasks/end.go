package tasks

import (
	"sluice/cache"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// Who settled a task, as its line of the log tells it.
const (
	ByPoll     = "poll"     // a client's poll, or its cancel, heard the end
	ByFinisher = "finisher" // nobody polled, and the finisher asked
	ByStream   = "stream"   // the creation's own answer told it
	ByLease    = "lease"    // nobody heard of it: it is charged as held
)

// End is what is known of the end of a task when it is settled.
type End struct {
	Outcome string // one of few words; see [Outcome]
	Answer  cache.Answer
	Usage   meter.Usage
	Images  int64  // that are charged
	Doubt   bool   // the images were not counted by the service
	By      string // who heard of the end
}

// Cost is what the end amounts to.
func (e *End) Cost(claim *cache.Claim) telemetry.Cost {
	flag := telemetry.FlagExact
	if e.Doubt {
		flag = telemetry.FlagEstimated
	}
	return Cost(taskCost(&claim.Hold, e.Images), flag)
}

// endOf tells how a task ended, by its last answer. Where that does not say how many images it made, it is as many as were
// held, in doubt.
func (t *Tasks) endOf(claim *cache.Claim, ended cache.Answer, body []byte, by string) *End {
	var reads meter.Meter
	reads.Reset("application/json", "")
	_, _ = reads.Write(body) // it never fails
	reading := reads.End()
	reading.Usage.Cover(t.deps.Cover)
	images, known := reading.Images()
	end := &End{Outcome: Outcome(ended.Status), Answer: ended, Usage: reading.Usage, Images: images, By: by}
	if end.Doubt = !known && ended.Status == cache.Succeeded && !forwarded(&claim.Hold); end.Doubt {
		end.Images = claim.Hold.Images
	}
	return end
}

// Outcome says how a task ended, in one of few words. A stream may end without the task's status.
func Outcome(status cache.Status) string {
	switch status {
	case cache.Failed:
		return "failed"
	case cache.Canceled, cache.Cancelled:
		return "cancelled"
	}
	return "succeeded"
}
