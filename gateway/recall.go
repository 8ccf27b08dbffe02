package gateway

import (
	"net/http"
	"strconv"
	"time"

	"sluice/cache"
)

// recall answers a poll of an own task. A task that is absent, expired or another team's is one answer, and costs
// upstream nothing. While any state of the task is known a poll is never refused: clients lose their task over a
// refused poll, so the last known answer serves where upstream fails.
func (g *Gateway) recall(w *reply, r *http.Request, c *call) error {
	claim, err := g.own(c)
	if err != nil {
		return err
	}
	fresh, err := g.upstream.do(c, get, "tasks/"+c.task)
	if err == nil && fresh.tells(c.task, g.TaskZone) {
		heard, _ := g.Claims.Hear(c.Team, c.task, cache.ReadAnswer(fresh.body, g.TaskZone), fresh.body)
		if heard.Answer.Status.Final() {
			g.settleTask(r.Context(), c, &heard, heard.Body)
		}
		c.Cache = "miss"
		w.Header().Set("Cache-Status", "sluice;fwd=uri-miss;stored")
		return fresh.write(w)
	}
	return g.stale(w, c, claim)
}

// own finds the claim of the task that the path names.
func (g *Gateway) own(c *call) (cache.Claim, error) {
	claim, ok := g.Claims.Get(c.Team, c.task)
	if !ok {
		return claim, refuse(refuseTask).say("There is no such task.")
	}
	c.Model = claim.Model
	return claim, nil
}

// stale serves the last known answer in place of a query that failed.
func (g *Gateway) stale(w *reply, c *call, claim cache.Claim) error {
	age := int(g.Now().Sub(claim.Fetched) / time.Second)
	c.Cache = "stale"
	w.Header().Set("Cache-Status", "sluice;hit;ttl="+strconv.Itoa(-age)+";detail=stale")
	w.Header().Set("Age", strconv.Itoa(age))
	return answer{status: http.StatusOK, header: jsonHeader(), body: claim.Body}.write(w)
}

// tells reports whether an answer says something of that task: upstream's errors, its "unknown" (it can lose a task
// for a moment) and an answer about another task do not.
func (a answer) tells(task string, zone *time.Location) bool {
	read := cache.ReadAnswer(a.body, zone)
	return a.status == http.StatusOK && read.Task == task && read.Status != cache.Unknown && read.Status != ""
}

// cancel asks upstream to cancel an own task and passes its answer on, also where it is too late to.
func (g *Gateway) cancel(w *reply, _ *http.Request, c *call) error {
	if _, err := g.own(c); err != nil {
		return err
	}
	answered, err := g.upstream.do(c, post, "tasks/"+c.task+"/cancel")
	if err != nil {
		return err
	}
	return answered.write(w)
}

func jsonHeader() http.Header { return http.Header{"Content-Type": acceptJSON} }

// answer is a whole answer, upstream's or one that was kept.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) write(w *reply) error {
	h := w.Header()
	for name, values := range a.header {
		h[name] = values
	}
	h["Content-Length"] = []string{strconv.Itoa(len(a.body))}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a client that is gone is seen by the Record
	return nil
}

// do makes a small request without a body and reads its answer whole.
func (u *upstream) do(c *call, method, path string) (answer, error) {
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
	return answer{status: got.StatusCode, header: got.Header, body: body}, nil
}
