package gateway

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"sluice/cache"
)

// recall answers a poll of an own task. A task that is absent, expired or another team's is one answer, and costs
// upstream nothing. While any state of the task is known a poll is never refused: clients lose their task over a
// refused poll, so the last known answer serves where upstream cannot be asked.
func (g *Gateway) recall(w *reply, r *http.Request, c *call) error {
	claim, err := g.own(r.Context(), c)
	if err != nil {
		return err
	}
	if !claim.Final() {
		claim.Tally.Serve()
	}
	if len(c.header[g.names.encryption]) > 0 {
		return g.recallPrivately(w, c, claim)
	}
	if span := preferredWait(r.Header); span > 0 {
		return g.tell(w, c, g.await(r.Context(), w, c, claim, span))
	}
	return g.tell(w, c, g.current(r.Context(), c, claim))
}

// own finds the claim of the task that the path names. Where nobody can tell whose it is, it waits for a while: the task
// is neither denied nor opened.
func (g *Gateway) own(ctx context.Context, c *call) (cache.Claim, error) {
	var end time.Time // of the waiting; there is none as a rule
	for {
		claim, ok, err := g.Claims.Get(ctx, c.Team, c.task)
		switch {
		case err == nil && !ok:
			return claim, refuse(refuseTask).say("There is no such task.")
		case err == nil:
			c.Task = c.task // only now: what stands in the path of a task that is not may be anything
			c.Model, c.Label, c.creation = claim.Model, g.teams.Load().Label(claim.Model), claim.Trace
			return claim, nil
		case end.IsZero():
			end = time.Now().Add(claimPatience)
		case time.Now().After(end) || ctx.Err() != nil:
			return claim, refuse(refuseClaim).say("Whose task this is is not known at the moment.").because(err).retry(time.Second)
		}
		select {
		case <-time.After(claimPatience / 20):
		case <-ctx.Done():
		}
	}
}

// claimPatience is how long a poll waits for the state that tells whose its task is.
const claimPatience = 2 * time.Second

// tell writes a task's answer, as upstream wrote it, and says how old it is and where it came from.
func (g *Gateway) tell(w *reply, c *call, t told) error {
	now := g.Now()
	age := max(now.Sub(t.claim.Fetched), 0)
	c.Cache, c.UpstreamID, c.UpstreamStatus = string(t.source), t.upstreamID, t.status
	c.waited += t.took
	c.tellEnd(&t)
	g.Metrics.Poll(string(t.source))
	h := w.Header()
	told := [2]string{strconv.Itoa(int(age / time.Second)), g.cacheStatus(&t, age, now)} // one allocation for both
	h["Age"], h["Cache-Status"] = told[:1:1], told[1:]
	if t.upstreamID != "" {
		h["X-Request-Id"] = []string{t.upstreamID}
	}
	h["Content-Type"] = acceptJSON
	return answer{status: http.StatusOK, body: t.claim.Body}.writeAt(w, now)
}

// tellEnd has the line of the request that heard of a task's end tell what the task used and cost.
func (c *call) tellEnd(t *told) {
	if t.end != nil {
		c.Usage, c.Cost, c.TaskStatus = t.end.usage, t.end.cost(&t.claim), string(t.end.answer.Status)
	}
}

// cacheStatus is the header of that name. ttl counts the seconds until the answer is asked for again, from when it should
// have been where it could not be; a final one is not asked for, and lives as long as its task.
func (g *Gateway) cacheStatus(t *told, age time.Duration, now time.Time) string {
	left := g.PollInterval - age
	if t.claim.Final() {
		left = t.claim.Created.Add(g.TaskTTL).Sub(now)
	}
	switch t.source {
	case sourceHit:
		return string(strconv.AppendInt(append(make([]byte, 0, 32), "sluice;hit;ttl="...), int64((left+time.Second-1)/time.Second), 10))
	case sourceStored:
		return "sluice;fwd=uri-miss;stored"
	case sourceCollapsed:
		return "sluice;fwd=uri-miss;collapsed"
	}
	return "sluice;hit;ttl=" + strconv.Itoa(min(int(left/time.Second), 0)) + ";detail=stale"
}

// tells reports whether an answer says something of that task: upstream's errors, its "unknown" (it can lose a task
// for a moment) and an answer about another task do not.
func (a answer) tells(task string, zone *time.Location) bool {
	read := cache.ReadAnswer(a.body, zone)
	return a.status == http.StatusOK && read.Task == task && read.Status != cache.Unknown && read.Status != ""
}

func jsonHeader() http.Header { return http.Header{"Content-Type": acceptJSON} }

// answer is a whole answer, upstream's or one that was kept.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) write(w *reply) error { return a.writeAt(w, w.gateway.Now()) }

// writeAt is write for who has just looked at the clock.
func (a answer) writeAt(w *reply, now time.Time) error {
	h := w.Header()
	for name, values := range a.header {
		h[name] = values
	}
	h["Content-Length"] = []string{strconv.Itoa(len(a.body))}
	w.whole(a.status, a.body, now)
	return nil
}

// do makes a small request without a body and reads its answer whole.
func (u *transport) do(c *call, method, path string) (answer, error) {
	target := u.gateway.UpstreamURL.JoinPath(path)
	out := &http.Request{Method: method, URL: target, Host: target.Host, Header: u.gateway.outbound(c), Body: http.NoBody, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	got, err := u.RoundTrip(out.WithContext(c.attach(out.Context())))
	if err != nil {
		return answer{}, err
	}
	body, err := readWhole(got)
	if err != nil {
		return answer{}, err
	}
	u.gateway.upstreamKey.Load().RedactKeys(body) // that a task failed is told with a status of 200
	return answer{status: got.StatusCode, header: got.Header, body: body}, nil
}
