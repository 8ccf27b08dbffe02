package gateway

import (
	"context"
	"net/http"
	"time"
)

// cancel asks upstream to cancel an own task and passes its answer on, also where it is too late to. It is asked within the
// account's rate of cancels. Where it worked the task's state is asked for at once, so that the next poll does not show the
// one before, and what was held is free.
func (g *Gateway) cancel(w *reply, r *http.Request, c *call) error {
	claim, err := g.own(r.Context(), c)
	if err != nil {
		return err
	}
	if !g.tasks.MayCancel(r.Context(), c.Team) {
		return refuse(refuseAccount).say("The service's account, which all teams share, is at its rate of cancels; team %s has had its part.", c.Team).retry(time.Second)
	}
	answered, err := g.upstream.do(c, post, "tasks/"+c.task+"/cancel")
	if err != nil {
		return err
	}
	if answered.status == http.StatusOK && !claim.Final() {
		told := g.tasks.Look(context.WithoutCancel(r.Context()), claim, c.Span)
		c.tellEnd(&told)
		c.waited += told.Took
	}
	return answered.write(w)
}
