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

// mostKept bounds the answer that is kept to be told again.
const mostKept = 1 << 20

// longestRun is how long a creation may take; after that nobody is there to tell what came of it.
const longestRun = 15 * time.Minute

// Outcomes remembers what came of creations that carry an Idempotency-Key.
type Outcomes interface {
	// Begin MUST let one request with a name run, and return what is remembered of it to all others: an outcome, or
	// one without a status while it runs. To the one that runs it MUST return a token of its own.
	Begin(ctx context.Context, name cache.OnceName, body [sha256.Size]byte) (was cache.Outcome, first bool, err error)
	// End MUST remember the outcome for as long as tasks live, or forget the name where it has no status and the name
	// still stands for the request of its token.
	End(ctx context.Context, name cache.OnceName, body [sha256.Size]byte, outcome cache.Outcome)
}

// once runs a task creation that carries an Idempotency-Key once: the same request again is answered with what came of
// the first. What is remembered are successes and unknown outcomes, which must not run again either, however the answer
// ended; whatever certainly made no task may be tried again.
func (g *Gateway) once(next handler) handler {
	return func(w *reply, r *http.Request, c *call) error {
		keys := c.header["Idempotency-Key"]
		if !c.creates || len(keys) == 0 {
			return next(w, r, c)
		}
		if len(keys) != 1 || keys[0] == "" || len(keys[0]) > longestIdempotencyKey {
			return refuse(refuseKeyReuse).say("Idempotency-Key: one of 1 to %d bytes is allowed; %d of %d bytes were given.", longestIdempotencyKey, len(keys), len(keys[0]))
		}
		name, body := onceName(c, keys[0]), sha256.Sum256(c.body)
		was, first, err := g.deps.Outcomes.Begin(r.Context(), name, body)
		switch {
		case err != nil:
			return refuse(refuseState).say("Whether this Idempotency-Key was used is not known at the moment.").because(err).retry(time.Second)
		case first:
			return g.runOnce(next, w, r, c, name, body, was.Token)
		case was.Body != body:
			return refuse(refuseKeyReuse).say("This Idempotency-Key was used with another body.")
		case was.Status == 0 && g.deps.Now().Sub(was.Started) > longestRun:
			return refuse(refuseAnswer).say("What came of the first request with this Idempotency-Key is unknown; it does not run again.")
		case was.Status == 0:
			return refuse(refuseKeyRuns).say("The request with this Idempotency-Key still runs.").with("Retry-After", "1")
		}
		c.Cache = "replay"
		for header, value := range was.Header {
			w.Header().Set(header, value)
		}
		w.WriteHeader(was.Status)
		_, _ = w.Write(was.Answer) // a client that is gone is seen by the Record
		return nil
	}
}

func onceName(c *call, key string) cache.OnceName {
	path := c.route.path
	if c.route.prefix {
		path = c.rest + "?" + c.query
	}
	sum := sha256.Sum256([]byte(c.Team + "\x00" + path + "\x00" + key))
	return cache.OnceName{Team: c.Team, Digest: hex.EncodeToString(sum[:])}
}

// runOnce runs the first request with a name and remembers what came of it, also where the client is gone or a stage
// panics: a name that nobody ends would be refused for ever.
func (g *Gateway) runOnce(next handler, w *reply, r *http.Request, c *call, name cache.OnceName, body [sha256.Size]byte, token string) error {
	var kept keptAnswer
	w.kept = &kept
	outcome, told := cache.Outcome{Body: body, Token: token}, false
	defer func() {
		switch {
		case !told && !c.mayHaveRun(): // it may be tried again
		case kept.over:
			outcome.Status, outcome.Answer, outcome.Header = untold(c, "is too long to be kept")
		case told || c.claimed && whole(w, len(kept.bytes)):
			outcome.Status, outcome.Answer, outcome.Header = c.Status, bytes.Clone(kept.bytes), map[string]string{}
			for _, header := range []string{"Content-Type", "X-Request-Id", "Sluice-Refusal", "Sluice-Held"} {
				if value := w.Header().Get(header); value != "" {
					outcome.Header[header] = value
				}
			}
		default:
			outcome.Status, outcome.Answer, outcome.Header = untold(c, "was cut")
		}
		g.deps.Outcomes.End(context.WithoutCancel(r.Context()), name, body, outcome)
	}()
	err := next(w, r, c)
	if err != nil && c.unknown && !w.wrote {
		writeRefusal(w, c, asRefusal(err)) // here, so that it is kept
		err = nil
	}
	told = err == nil && c.mayHaveRun() && (c.unknown || c.Status/100 == 2)
	return err
}

// mayHaveRun reports whether the service did the work, or may have. A stream is refused inside a success.
func (c *call) mayHaveRun() bool {
	return c.claimed || c.unknown || c.Cost.Flag == telemetry.FlagExact || c.Cost.Flag == telemetry.FlagEstimated
}

// whole reports whether so many bytes are the whole of an answer whose length is known: only its client did not get it.
func whole(w *reply, n int) bool { return w.Header().Get("Content-Length") == strconv.Itoa(n) }

// untold is what is remembered of a creation that made a task, or may have, and whose answer cannot be told again: it was cut,
// by its client or by upstream, and the bytes that there are must not pass for a success, or it is too long. It must not run
// again either way.
func untold(c *call, why string) (status int, body []byte, header map[string]string) {
	message := "What came of the first request with this Idempotency-Key is unknown; it does not run again."
	if c.claimed {
		message = "The answer to the first request with this Idempotency-Key " + why + "; it made the task " + c.Task + ", and does not run again."
	}
	return refuseAnswer.status, errorBody(refuseAnswer.code, message, c.ID), map[string]string{"Content-Type": "application/json", "Sluice-Refusal": refuseAnswer.name}
}

// keptAnswer is what was written of an answer, as long as that is not too much; then it is nothing.
type keptAnswer struct {
	bytes []byte
	over  bool // it was too much
}

func (k *keptAnswer) keep(p []byte) {
	if k.over = k.over || len(k.bytes)+len(p) > mostKept; k.over {
		k.bytes = nil
		return
	}
	k.bytes = append(k.bytes, p...)
}
