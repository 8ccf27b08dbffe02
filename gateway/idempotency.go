package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"sluice/cache"
	"sluice/telemetry"
)

// longestIdempotencyKey is how many bytes an Idempotency-Key may have.
const longestIdempotencyKey = 255

// longestRun is how long a creation may take. After that, its process has died and the outcome is unknown.
const longestRun = 15 * time.Minute

// idempotency is the stage that runs a task creation with an Idempotency-Key only once.
type idempotency struct {
	outcomes Outcomes
	now      func() time.Time
}

// runOnce answers a repeated request with the outcome of the first. It remembers successes and unknown outcomes, which must not
// run again either. A request that certainly made no task may run again.
func (i *idempotency) runOnce(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		keys := s.header["Idempotency-Key"]
		if !s.creates || len(keys) == 0 {
			return next(w, r, s)
		}
		if len(keys) != 1 || keys[0] == "" || len(keys[0]) > longestIdempotencyKey {
			return refuse(refuseKeyReuse).say("Idempotency-Key: given %d of %d bytes, allowed one of 1 to %d bytes.", len(keys), len(keys[0]), longestIdempotencyKey)
		}
		name, body := idempotencyName(s, keys[0]), sha256.Sum256(s.body)
		was, first, err := i.outcomes.Begin(r.Context(), name, body)
		switch {
		case err != nil:
			return refuse(refuseState).say("The Idempotency-Key cannot be looked up at the moment; send the request again.").because(err).retry(time.Second)
		case first:
			run := firstRun{outcomes: i.outcomes, name: name, outcome: cache.Outcome{Body: body, Token: was.Token}}
			return run.run(next, w, r, s)
		case was.Body != body:
			return refuse(refuseKeyReuse).say("This Idempotency-Key was used with another body.")
		case was.Status == 0 && i.now().Sub(was.Started) > longestRun:
			return refuse(refuseAnswer).say("The outcome of the first request with this Idempotency-Key is unknown; the request is not run again.")
		case was.Status == 0:
			return refuse(refuseKeyRuns).say("The request with this Idempotency-Key still runs.").with("Retry-After", "1")
		}
		s.Cache = "replay"
		for header, value := range was.Header {
			w.Header().Set(header, value)
		}
		w.WriteHeader(was.Status)
		_, _ = w.Write(was.Answer) // the Record notes that the client left
		return nil
	}
}

func idempotencyName(s *requestState, key string) cache.IdempotencyName {
	path := s.route.path
	if s.route.prefix {
		path = s.rest + "?" + s.query
	}
	sum := sha256.Sum256([]byte(s.Team + "\x00" + path + "\x00" + key))
	return cache.IdempotencyName{Team: s.Team, Digest: hex.EncodeToString(sum[:])}
}

// firstRun is the first request with a name.
type firstRun struct {
	outcomes  Outcomes
	name      cache.IdempotencyName
	outcome   cache.Outcome
	kept      keptAnswer
	isOutcome bool // the kept answer is the outcome
}

// run remembers the outcome also if the client leaves or a stage panics: otherwise the name would be refused for ever.
func (f *firstRun) run(next handler, w *reply, r *http.Request, s *requestState) error {
	w.kept = &f.kept
	defer func() {
		f.decide(w, s)
		f.outcomes.End(context.WithoutCancel(r.Context()), f.name, f.outcome.Body, f.outcome)
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
	message := "The outcome of the first request with this Idempotency-Key is unknown; the request is not run again."
	if s.claimed {
		message = "The answer to the first request with this Idempotency-Key " + why + "; it made the task " + s.Task + ", and the request is not run again."
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
