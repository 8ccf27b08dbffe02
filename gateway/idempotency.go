package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"sluice/cache"
	"sluice/gateway/refusal"
	"sluice/gateway/stores"
	"sluice/gateway/tasks"
	"sluice/gateway/wire"
)

// longestIdempotencyKey is how many bytes an Idempotency-Key may have.
const longestIdempotencyKey = 255

// longestRun is how long a creation may take. After that, its process has died and the outcome is unknown.
const longestRun = 15 * time.Minute

// idempotency is the stage that runs a task creation with an Idempotency-Key only once, and a request of OpenAI's interface for
// images also without one.
type idempotency struct {
	outcomes stores.Outcomes
	now      func() time.Time
	wait     time.Duration // how long a repeated request waits for the first, if it waits
	live     *live
}

// onceCall is a request that runs once.
type onceCall struct {
	name  cache.IdempotencyName
	body  [sha256.Size]byte
	equal bool // name is shared by all equal requests
	waits bool // while the first request runs

	attempt cache.Attempt // its token is the request's; the rest is used only if equal
	joined  bool          // name is already that of one of the equal requests
	taken   *takenName    // where that name is stored
}

// words returns how messages name the call.
func (c *onceCall) words() (subject, like string) {
	if c.equal {
		return "Whether the request repeats another", "that is equal to this one"
	}
	return "The Idempotency-Key", "with this Idempotency-Key"
}

// runOnce answers a repeated request with the outcome of the first. It remembers successes and unknown outcomes, which must not
// run again either. A request that certainly made no task may run again.
func (i *idempotency) runOnce(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		if s.repeats == nil && (!s.creates || len(s.header["Idempotency-Key"]) == 0) {
			return next(w, r, s)
		}
		return i.once(next, w, r, s)
	}
}

// once is separate from runOnce to save stack, which a stream keeps as long as it lasts.
func (i *idempotency) once(next handler, w *reply, r *http.Request, s *requestState) error {
	keys := s.header["Idempotency-Key"]
	if len(keys) > 0 && (len(keys) != 1 || keys[0] == "" || len(keys[0]) > longestIdempotencyKey) {
		return refusal.New(refusal.KeyReuse).Say("Idempotency-Key: given %d of %d bytes, allowed one of 1 to %d bytes.", len(keys), len(keys[0]),
			longestIdempotencyKey)
	}
	call := onceCallOf(s, wire.First(keys))
	call.attempt.Patience, call.attempt.Token = i.wait, rand.Text()
	was, runs, err := i.begin(r.Context(), s, call)
	subject, _ := call.words()
	switch {
	case err != nil:
		return refusal.Later(refusal.State, err, "%s cannot be looked up", subject)
	case call.waits && r.Context().Err() != nil:
		if runs { // a repetition may be on its way already, and would not have found this one
			i.outcomes.End(context.WithoutCancel(r.Context()), call.name, call.body, cache.Outcome{Token: was.Token})
		}
		return nil
	case runs:
		run := firstRun{outcomes: i.outcomes, call: call, outcome: cache.Outcome{Body: call.body, Token: was.Token}}
		return run.run(next, w, r, s)
	}
	return i.repeat(w, s, call, &was)
}

// onceCallOf names a request by its Idempotency-Key, or without one by its fingerprint.
func onceCallOf(s *requestState, key string) *onceCall {
	switch {
	case s.repeats == nil:
		path := s.route.path
		if s.route.prefix {
			path = s.rest + "?" + s.query
		}
		return &onceCall{name: idempotencyName(s, path, key), body: sha256.Sum256(s.body)}
	case key != "":
		return &onceCall{name: idempotencyName(s, s.repeats.path, key), body: s.repeats.body, waits: true}
	}
	all := cache.IdempotencyName{Team: s.Team, Digest: hex.EncodeToString(s.repeats.fingerprint[:])}
	return &onceCall{name: all, body: s.repeats.fingerprint, equal: true, attempt: s.repeats.attempt, taken: &s.repeats.taken, waits: true}
}

func idempotencyName(s *requestState, path, key string) cache.IdempotencyName {
	sum := sha256.Sum256([]byte(s.Team + "\x00" + path + "\x00" + key))
	return cache.IdempotencyName{Team: s.Team, Digest: hex.EncodeToString(sum[:])}
}

// repeat answers a request with what is remembered of the first.
func (i *idempotency) repeat(w *reply, s *requestState, call *onceCall, was *cache.Outcome) error {
	_, like := call.words()
	w.final(call.waits && (was.Status == 0 || was.Status >= http.StatusBadRequest))
	switch {
	case was.Body != call.body:
		return refusal.New(refusal.KeyReuse).Say("This Idempotency-Key was used with another body.")
	case was.Status == 0 && i.now().Sub(was.Started) > longestRun:
		return refusal.New(refusal.Answer).Say("The outcome of the first request %s is unknown; the request is not run again.", like)
	case was.Status == 0 && call.waits && i.live.stopping.Load():
		w.final(false)
		return refusal.Stopped()
	case was.Status == 0 && call.waits:
		return refusal.New(refusal.Wait).Say("The first request %s has not ended within %s, and may never tell how it ended; the request is "+
			"not run again.", like, i.wait)
	case was.Status == 0:
		return refusal.New(refusal.KeyRuns).Say("The request with this Idempotency-Key still runs.").With("Retry-After", "1")
	}
	s.Cache, s.Refusal = "replay", was.Header["Sluice-Refusal"]
	if made := cache.ReadAnswer(was.Answer, time.UTC).Task; was.Status == http.StatusOK && tasks.IsID(made) {
		s.Task = made
	}
	for header, value := range was.Header {
		w.Header().Set(header, value)
	}
	w.WriteHeader(was.Status)
	_, _ = w.Write(was.Answer) // the Record notes that the client left
	return nil
}

// begin finds out whether a request is the first. A request that waits asks again until the first has ended, its own time is
// over, or its client has left.
func (i *idempotency) begin(ctx context.Context, s *requestState, call *onceCall) (was cache.Outcome, runs bool, err error) {
	end := s.start.Add(i.wait)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		was, runs, err = i.look(ctx, call)
		now := i.now()
		if err != nil || runs || !call.waits || was.Status != 0 || was.Body != call.body || now.Sub(was.Started) > longestRun ||
			!now.Before(end) || i.live.stopping.Load() {
			return was, runs, err
		}
		rest := time.NewTimer(min(pause, end.Sub(now)))
		select {
		case <-rest.C:
		case <-ctx.Done():
			rest.Stop()
			return was, false, nil
		}
		s.waited += i.now().Sub(now)
	}
}

// look asks once. It gives an attempt without an Idempotency-Key the name of the request that it belongs to.
func (i *idempotency) look(ctx context.Context, call *onceCall) (was cache.Outcome, runs bool, err error) {
	if !call.equal || call.joined {
		return i.outcomes.Begin(ctx, call.name, call.body, call.attempt.Token)
	}
	name, was, runs, err := i.outcomes.Join(ctx, call.name, call.body, call.attempt)
	if err == nil {
		call.name, call.joined = name, true
	}
	if err == nil && (runs || call.attempt.Number > 0) { // otherwise it is late, and the client waits for its repetition
		call.taken.Store(&name)
	}
	return was, runs, err
}

// noteRefused notes that a first attempt was refused before it was looked up: its repetition will run in its place.
func (i *idempotency) noteRefused(ctx context.Context, s *requestState) {
	call := onceCallOf(s, "")
	call.attempt.Patience, call.attempt.Token = i.wait, rand.Text()
	if _, runs, err := i.look(ctx, call); err == nil && runs {
		i.outcomes.End(ctx, call.name, call.body, cache.Outcome{Token: call.attempt.Token})
	}
}

// givenUp is the stage that notes when the client of a request without an Idempotency-Key does not get its pictures, because it
// left or got an error. That client may repeat the request, and must then find its own among equal ones.
func (i *idempotency) givenUp(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		taken := &s.repeats.taken
		leave := func() {
			if name := taken.Swap(nil); name != nil {
				i.outcomes.Leave(context.WithoutCancel(r.Context()), *name)
			}
		}
		stays, served := context.AfterFunc(r.Context(), leave), false
		defer func() {
			if stays(); !served {
				leave()
			}
		}()
		err := next(w, r, s)
		status, _ := w.front.Sent()
		served = err == nil && status == http.StatusOK && w.failed == nil
		return err
	}
}

// firstRun is the run of the first request with a name.
type firstRun struct {
	outcomes  stores.Outcomes
	call      *onceCall
	outcome   cache.Outcome
	kept      wire.Kept
	isOutcome bool // the kept answer is the outcome
}

// run remembers the outcome also if the client leaves or a stage panics: otherwise the name would be refused for ever.
func (f *firstRun) run(next handler, w *reply, r *http.Request, s *requestState) error {
	w.kept = &f.kept
	defer func() {
		w.kept = nil
		f.decide(w, s)
		if f.call.equal && f.outcome.Status == 0 {
			f.call.taken.Store(nil) // End notes the refusal
		}
		f.outcomes.End(context.WithoutCancel(r.Context()), f.call.name, f.outcome.Body, f.outcome)
	}()
	err := next(w, r, s)
	if err != nil && s.unknown && !w.wrote {
		writeRefusal(w, s, refusal.As(err)) // here, so that it is kept
		err = nil
	}
	f.isOutcome = err == nil && s.mayHaveRun() && (s.unknown || s.Status/100 == 2)
	return err
}

// decide sets the outcome. Without a status the request may run again.
func (f *firstRun) decide(w *reply, s *requestState) {
	whole := w.Header().Get("Content-Length") == strconv.Itoa(len(f.kept.Bytes)) // only the client missed the end of it
	switch {
	case !f.isOutcome && !s.mayHaveRun():
	case f.kept.Over:
		f.loseAnswer(s, "is too long to be kept")
	case f.isOutcome || s.claimed && whole:
		f.outcome.Status, f.outcome.Answer, f.outcome.Header = s.Status, bytes.Clone(f.kept.Bytes), map[string]string{}
		for _, header := range wire.ReplayNames {
			if value := w.Header().Get(header); value != "" {
				f.outcome.Header[header] = value
			}
		}
	default:
		f.loseAnswer(s, "was cut")
	}
}

// loseAnswer sets the outcome of a creation that made a task, or may have, and whose answer was cut or is too long to be repeated.
// The kept bytes must not pass for a success, and the creation must not run again.
func (f *firstRun) loseAnswer(s *requestState, why string) {
	_, like := f.call.words()
	message := "The outcome of the first request " + like + " is unknown; the request is not run again."
	if s.claimed {
		message = "The answer to the first request " + like + " " + why + "; it made the task " + s.Task + ", and the request is not run again."
	}
	f.outcome.Status, f.outcome.Answer = refusal.Answer.Status, wire.ErrorBody(refusal.Answer.Code, message, s.ID)
	f.outcome.Header = map[string]string{"Content-Type": "application/json", "Sluice-Refusal": refusal.Answer.Name}
}
