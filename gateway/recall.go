package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"sluice/cache"
	"sluice/gateway/tasks"
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
		return g.recallEncrypted(w, c, claim)
	}
	if span := tasks.PreferredWait(r.Header); span > 0 {
		return g.tell(w, c, g.await(r.Context(), w, c, claim, span))
	}
	return g.tell(w, c, g.tasks.Current(r.Context(), claim, c.Span))
}

// own finds the claim of the task that the path names.
func (g *Gateway) own(ctx context.Context, c *call) (cache.Claim, error) {
	claim, err := g.tasks.Own(ctx, c.Team, c.task)
	switch {
	case errors.Is(err, tasks.ErrAbsent):
		return claim, refuse(refuseTask).say("There is no such task.")
	case err != nil:
		return claim, refuse(refuseClaim).say("Whose task this is is not known at the moment.").because(err).retry(time.Second)
	}
	c.Task = c.task // only now: what stands in the path of a task that is not may be anything
	c.Model, c.Label, c.creation = claim.Model, g.teams.Load().Label(claim.Model), claim.Trace
	return claim, nil
}

// mostWaiters is how many polls may be held of a team that has no limit of concurrent requests.
const mostWaiters = 100

// await holds a poll until its task's state changes. A team has only so many polls held; more are answered at once, and so are
// all when the gateway drains.
func (g *Gateway) await(ctx context.Context, w *reply, c *call, claim cache.Claim, span time.Duration) tasks.Told {
	held, most := &g.slots.of(c.Team).waiting, g.places(c.team)
	if most == 0 {
		most = mostWaiters
	}
	defer held.Add(-1)
	if held.Add(1) > most {
		return g.tasks.Current(ctx, claim, c.Span)
	}
	w.Header()["Preference-Applied"] = []string{"wait=" + strconv.Itoa(int(span/time.Second))}
	told, waited := g.tasks.Await(ctx, claim, c.Span, span, g.draining.Load)
	c.waited += waited // the wait is the client's wish
	return told
}

// recallEncrypted asks upstream for this client alone, whose answer nobody else can read, or tells it the last known one.
func (g *Gateway) recallEncrypted(w *reply, c *call, claim cache.Claim) error {
	var fresh answer
	told, passes := g.tasks.Encrypted(claim, c.Span, func() (tasks.Reply, error) {
		var err error
		fresh, err = g.upstream.do(c, get, "tasks/"+c.task)
		return tasks.Reply{Status: fresh.status, Body: fresh.body}, err
	})
	if !passes {
		return g.tell(w, c, told)
	}
	c.Cache = string(tasks.Stored)
	g.deps.Metrics.Poll(c.Cache)
	w.Header()["Cache-Status"] = []string{"sluice;fwd=request"}
	return fresh.write(w)
}

// tell writes a task's answer, as upstream wrote it, and says how old it is and where it came from.
func (g *Gateway) tell(w *reply, c *call, t tasks.Told) error {
	now := g.deps.Now()
	age := max(now.Sub(t.Claim.Fetched), 0)
	c.Cache, c.UpstreamID, c.UpstreamStatus = string(t.Source), t.UpstreamID, t.UpstreamStatus
	c.waited += t.Took
	c.tellEnd(&t)
	g.deps.Metrics.Poll(c.Cache)
	h := w.Header()
	told := [2]string{strconv.Itoa(int(age / time.Second)), g.tasks.Status(&t, age, now)} // one allocation for both
	h["Age"], h["Cache-Status"] = told[:1:1], told[1:]
	if t.UpstreamID != "" {
		h["X-Request-Id"] = []string{t.UpstreamID}
	}
	h["Content-Type"] = acceptJSON
	return answer{status: http.StatusOK, body: t.Claim.Body}.writeAt(w, now)
}

// tellEnd has the line of the request that heard of a task's end tell what the task used and cost.
func (c *call) tellEnd(t *tasks.Told) {
	if t.End != nil {
		c.Usage, c.Cost, c.TaskStatus = t.End.Usage, t.End.Cost(&t.Claim), string(t.End.Answer.Status)
	}
}
