package tasks

import (
	"sluice/cache"
	"sluice/policy/limit"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// How the end of a task was heard, as its log line says.
const (
	ByPoll     = "poll"     // by a query for a client's poll or cancel
	ByFinisher = "finisher" // by a query of the finisher, because no client polled
	ByStream   = "stream"   // in the creation's own answer
	ByLease    = "lease"    // not at all: the task is charged as held
)

// End is the end of a task as it is settled.
type End struct {
	Outcome   string // see [Outcome]
	Answer    cache.Answer
	Usage     meter.Usage
	Images    int64  // that are charged
	Estimated bool   // the service did not count the images
	By        string // how the end was heard
}

// Cost is the cost of the end.
func (e *End) Cost(claim *cache.Claim) telemetry.Cost {
	flag := telemetry.FlagExact
	if e.Estimated {
		flag = telemetry.FlagEstimated
	}
	return Cost(TaskCost(&claim.Hold, e.Images), flag)
}

// endOf reads how a task ended from its last answer. If the answer does not count the images, the number is estimated: as many
// as were held.
func (t *Tasks) endOf(claim *cache.Claim, ended cache.Answer, body []byte, by string) *End {
	reading := read(body)
	reading.Usage.Cover(t.deps.Cover)
	end := &End{Outcome: Outcome(ended.Status), Answer: ended, Usage: reading.Usage, By: by}
	end.Images, end.Estimated = imagesOf(claim, ended.Status, &reading)
	return end
}

func read(body []byte) meter.Reading {
	var reads meter.Meter
	reads.Reset("application/json", "")
	_, _ = reads.Write(body) // it never fails
	return reads.End()
}

// imagesOf is how many images are charged, and whether that is estimated.
func imagesOf(claim *cache.Claim, status cache.Status, reading *meter.Reading) (images int64, estimated bool) {
	images, known := reading.Images()
	if !known && status == cache.Succeeded && !forwarded(&claim.Hold) {
		return claim.Hold.Images, true
	}
	return images, false
}

// Settled is what a task costs whose last answer is its end, and whether that is estimated. False: it has not ended.
func Settled(claim *cache.Claim) (cost limit.Amounts, estimated, ended bool) {
	if !claim.Final() {
		return cost, false, false
	}
	reading := read(claim.Body)
	images, estimated := imagesOf(claim, claim.Answer.Status, &reading)
	return TaskCost(&claim.Hold, images), estimated, true
}

// Outcome is how a task ended: succeeded, failed or cancelled. A stream that ends without the task's status has succeeded.
func Outcome(status cache.Status) string {
	switch status {
	case cache.Failed:
		return "failed"
	case cache.Canceled, cache.Cancelled:
		return "cancelled"
	}
	return "succeeded"
}
