package hooks

import (
	"net/http"
	"time"

	"sluice/policy/event"
)

// waits has the times until the next try of a delivery, after the first try, the second, and so on; the last one repeats.
var waits = [...]time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour}

// spread is the part by which a wait is longer or shorter, so that deliveries that failed together are not tried together.
const spread = 0.2

// waitAfter is how long a delivery waits after so many tries. roll is from 0 up to 1.
func waitAfter(tries int, roll float64) time.Duration {
	wait := float64(waits[min(max(tries, 1), len(waits))-1])
	return time.Duration(wait * (1 - spread + 2*spread*roll))
}

// Outcome is the outcome of one try.
type Outcome string

// The outcomes of a try.
const (
	Taken   Outcome = "delivered" // it was answered with 2xx
	Failed  Outcome = "failed"    // it is tried again
	GivenUp Outcome = "given_up"  // the event's life ends before the next try
	Ended   Outcome = "ended"     // it was answered with 410: the hook's deliveries wait until its lines in the file change
)

// Outcomes lists them all.
var Outcomes = []Outcome{Taken, Failed, GivenUp, Ended}

// judge notes in a delivery the outcome of a try with a status (0: no answer), and returns the wait until the next try. Whether the event
// still lives then is not judged here: the outbox has the clock.
func judge(d *event.Delivery, code int, roll float64) (Outcome, time.Duration) {
	d.Tries++
	d.State, d.Code = event.Waiting, code
	wait := waitAfter(d.Tries, roll)
	switch {
	case code >= 200 && code <= 299:
		d.State = event.Delivered
		return Taken, 0
	case code == http.StatusGone:
		return Ended, wait
	}
	return Failed, wait
}
