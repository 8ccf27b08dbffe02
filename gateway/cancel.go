package gateway

import (
	"context"
	"net/http"
	"time"
)

// cancel asks the service to cancel one of the team's tasks and passes its answer on, also if it is too late. Cancels share
// the account's rate of cancels. After a cancel that worked it queries the task's state at once, so that the next poll shows
// it and the hold is free.
func (p *polls) cancel(w *reply, r *http.Request, s *requestState) error {
	claim, err := p.own(r.Context(), s)
	if err != nil {
		return err
	}
	if !p.tasks.MayCancel(r.Context(), s.Team) {
		return refuse(refuseAccount).say("The service's account, which all teams share, is at its rate of cancels; team %s has used its share; send the request again later.", s.Team).retry(time.Second)
	}
	got, err := p.service.do(s, post, "tasks/"+s.task+"/cancel")
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
