package gateway

import (
	"bytes"
	"context"
	"net/http"
	"strconv"

	"sluice/cache"
	"sluice/telemetry"
)

// firstRun is the first request with a name.
type firstRun struct {
	outcomes  Outcomes
	call      *onceCall
	outcome   cache.Outcome
	kept      keptAnswer
	isOutcome bool // the kept answer is the outcome
}

// run remembers the outcome also if the client leaves or a stage panics: otherwise the name would be refused for ever.
func (f *firstRun) run(next handler, w *reply, r *http.Request, s *requestState) error {
	w.kept = &f.kept
	defer func() {
		w.kept = nil
		f.decide(w, s)
		if f.call.equal && f.outcome.Status == 0 {
			f.call.taken.Store(nil) // it is refused, which is noted
		}
		f.outcomes.End(context.WithoutCancel(r.Context()), f.call.name, f.outcome.Body, f.outcome)
	}()
	err := next(w, r, s)
	if err != nil && s.unknown && !w.wrote {
		writeRefusal(w, s, asRefusal(err)) // here, so that it is kept
		err = nil
	}
	f.isOutcome = err == nil && s.mayHaveRun() && (s.unknown || s.Status/100 == 2)
	return err
}

// decide sets the outcome. Without a status the request may run again.
func (f *firstRun) decide(w *reply, s *requestState) {
	switch {
	case !f.isOutcome && !s.mayHaveRun():
	case f.kept.over:
		f.loseAnswer(s, "is too long to be kept")
	case f.isOutcome || s.claimed && whole(w, len(f.kept.bytes)):
		f.outcome.Status, f.outcome.Answer, f.outcome.Header = s.Status, bytes.Clone(f.kept.bytes), map[string]string{}
		for _, header := range replayNames {
			if value := w.Header().Get(header); value != "" {
				f.outcome.Header[header] = value
			}
		}
	default:
		f.loseAnswer(s, "was cut")
	}
}

// loseAnswer sets the outcome of a creation that made a task, or may have, and whose answer cannot be repeated: it was cut or
// is too long, and the kept bytes must not pass for a success. It must not run again either.
func (f *firstRun) loseAnswer(s *requestState, why string) {
	message := "The outcome of the first request " + f.call.like() + " is unknown; the request is not run again."
	if s.claimed {
		message = "The answer to the first request " + f.call.like() + " " + why + "; it made the task " + s.Task + ", and the request is not run again."
	}
	f.outcome.Status, f.outcome.Answer = refuseAnswer.status, errorBody(refuseAnswer.code, message, s.ID)
	f.outcome.Header = map[string]string{"Content-Type": "application/json", "Sluice-Refusal": refuseAnswer.name}
}

// mayHaveRun reports whether the service did the work, or may have. An error inside a stream comes with status 200.
func (s *requestState) mayHaveRun() bool {
	return s.claimed || s.unknown || s.Cost.Flag == telemetry.FlagExact || s.Cost.Flag == telemetry.FlagEstimated
}

// whole reports whether n bytes are the whole answer, so that only the client missed the end of it.
func whole(w *reply, n int) bool { return w.Header().Get("Content-Length") == strconv.Itoa(n) }
