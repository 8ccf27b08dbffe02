package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"sluice/cache"
	"sluice/gateway/loads"
	"sluice/gateway/mirror/store"
	"sluice/gateway/refusal"
	"sluice/gateway/tasks"
	"sluice/gateway/wire"
)

// polls answers requests about tasks: polls, cancels and lists.
type polls struct {
	config  *Config
	deps    *Deps
	live    *live
	service *service
	loads   *loads.Loads
	tasks   *tasks.Tasks
}

// recall answers a poll of one of the team's tasks. An absent task, an expired one and another team's task get the same answer, and
// the service is not queried. While any state of the task is known, no poll is refused: clients give their task up after a
// refused poll, so the last known answer serves when the service cannot be queried.
func (p *polls) recall(w *reply, r *http.Request, s *requestState) error {
	claim, err := p.own(r.Context(), s)
	if err != nil {
		return err
	}
	return p.answer(w, r, s, claim)
}

// answer answers a poll of a task that is the team's.
func (p *polls) answer(w *reply, r *http.Request, s *requestState, claim cache.Claim) error {
	if !claim.Final() {
		claim.CountPoll()
	}
	if len(s.header[p.service.headers.encryption]) > 0 {
		return p.recallEncrypted(w, s, claim)
	}
	if span, _ := wire.PreferredWait(r.Header); span > 0 {
		return p.write(w, s, p.await(r.Context(), w, s, claim, span))
	}
	return p.write(w, s, p.tasks.Current(r.Context(), claim, s.Span))
}

// own finds the team's claim of the task in the path.
func (p *polls) own(ctx context.Context, s *requestState) (cache.Claim, error) {
	claim, err := p.tasks.Own(ctx, s.Team, s.task)
	switch {
	case errors.Is(err, tasks.ErrAbsent):
		return claim, refusal.New(refusal.Task).Say("There is no such task.")
	case errors.Is(err, tasks.ErrCrowded):
		return claim, refusal.New(refusal.Concurrent).Say("Team %s has %d look-ups of tasks under way, which is its share of this gateway's, "+
			"and this task is not among those of the team; send the request again later.", s.Team, p.deps.Remote.Calls).Retry(time.Second)
	case err != nil:
		return claim, refusal.Later(refusal.Claim, err, "The task cannot be looked up")
	}
	s.Task = s.task // only now: the id of an absent task may be any text
	s.Model, s.Label, s.creation, s.Account = claim.Model, p.live.label(claim.Model), claim.Trace, p.live.pool.Shown(claim.Account)
	return claim, nil
}

// result answers with a picture that the mirror keeps of one of the team's tasks, even when the service no longer knows the task. A
// task of another team, a task that never was, and a picture that is not kept get the same answer.
func (p *polls) result(w *reply, r *http.Request, s *requestState) error {
	err := store.ErrAbsent
	if p.deps.Result != nil {
		err = p.deps.Result(w, r, s.Team, s.task, s.picture)
	}
	switch {
	case errors.Is(err, store.ErrAbsent):
		return refusal.New(refusal.Task).Say("There is no such task, or no such picture of it is kept.")
	case err != nil:
		return refusal.Later(refusal.Claim, err, "The picture cannot be had from the store")
	}
	s.Task = s.task
	return nil
}

// mostWaiters is how many polls of a team may wait if it has no limit of concurrent requests.
const mostWaiters = 100

// await lets a poll wait until its task's state changes. The number of a team's waiting polls is bounded; further polls are
// answered immediately, and so are all when the gateway drains.
func (p *polls) await(ctx context.Context, w *reply, s *requestState, claim cache.Claim, span time.Duration) tasks.PollAnswer {
	waiting := &p.loads.Of(s.Team).Waiting
	_, most := p.loads.InFlight(s.team)
	if most == 0 {
		most = mostWaiters
	}
	defer waiting.Add(-1)
	if waiting.Add(1) > most {
		return p.tasks.Current(ctx, claim, s.Span)
	}
	s.patience, s.preferred = span, true
	latest, waited := p.tasks.Await(ctx, claim, s.Span, span, p.live.draining.Load)
	s.waited += waited // the client wanted the wait
	return latest
}

// recallEncrypted passes on an answer that only this client can decrypt, or writes the last known one.
func (p *polls) recallEncrypted(w *reply, s *requestState, claim cache.Claim) error {
	var fresh answer
	known, passes := p.tasks.Encrypted(claim, s.Span, func() (tasks.Reply, error) {
		var err error
		fresh, err = p.service.do(s, &claim, get, "tasks/"+s.task)
		return tasks.Reply{Status: fresh.status, Body: fresh.body}, err
	})
	if !passes {
		return p.write(w, s, known)
	}
	s.Cache = string(tasks.Queried)
	p.deps.Metrics.Poll(s.Cache)
	w.Header()["Cache-Status"] = []string{"sluice;fwd=request"}
	return fresh.write(w)
}

// write writes a task's answer as the service wrote it, with its age and its source.
func (p *polls) write(w *reply, s *requestState, t tasks.PollAnswer) error {
	now := p.deps.Now()
	age := max(now.Sub(t.Claim.Fetched), 0)
	s.Cache, s.UpstreamID, s.UpstreamStatus = string(t.Source), t.UpstreamID, t.UpstreamStatus
	s.waited += t.Took
	s.recordEnd(&t)
	p.deps.Metrics.Poll(s.Cache)
	h := w.Header()
	h["Age"], h["Cache-Status"] = s.values.One(strconv.Itoa(int(age/time.Second))), s.values.One(p.tasks.CacheStatus(&t, age, now))
	if t.UpstreamID != "" {
		h["X-Request-Id"] = s.values.One(t.UpstreamID)
	}
	h["Content-Type"] = acceptJSON
	return answer{status: http.StatusOK, body: t.Claim.Body}.writeAt(w, now)
}

// recordEnd notes what a task used and cost in the Record of the request that learned of its end.
func (s *requestState) recordEnd(t *tasks.PollAnswer) {
	if t.End != nil {
		s.Usage, s.Cost, s.TaskStatus = t.End.Usage, t.End.Cost(s.team.Money), string(t.End.Answer.Status)
	}
}

// list answers GET tasks with the team's own tasks: the service's list has those of every team.
func (p *polls) list(w *reply, r *http.Request, s *requestState) error {
	filter, err := tasks.ReadFilter(r.URL.Query(), p.config.TaskZone)
	if err != nil {
		return refusal.New(refusal.Rules).Say("%s", err.Error())
	}
	page, err := p.tasks.List(r.Context(), s.Team, filter)
	if err != nil {
		return refusal.Later(refusal.Claim, err, "The team's tasks cannot be read")
	}
	return answer{status: http.StatusOK, header: jsonHeader(), body: tasks.ListBody(&page, filter, s.ID)}.write(w)
}

// cancel asks the service to cancel one of the team's tasks and passes its answer on, also if it is too late. Cancels share the
// account's rate of cancels. After a successful cancel it queries the task's state immediately, so that the next poll shows it
// and the hold is free.
func (p *polls) cancel(w *reply, r *http.Request, s *requestState) error {
	claim, err := p.own(r.Context(), s)
	if err != nil {
		return err
	}
	if !p.tasks.MayCancel(r.Context(), &claim) {
		return refusal.New(refusal.Account).Say("The service's account, which all teams share, is at its rate of cancels; team %s has used "+
			"its share; send the request again later.", s.Team).Retry(time.Second)
	}
	got, err := p.service.do(s, &claim, post, "tasks/"+s.task+"/cancel")
	if err != nil {
		return err
	}
	if got.status == http.StatusOK && !claim.Final() {
		latest := p.tasks.Look(context.WithoutCancel(r.Context()), claim, s.Span)
		s.recordEnd(&latest)
		s.waited += latest.Took
	}
	return got.write(w)
}
