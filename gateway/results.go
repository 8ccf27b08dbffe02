package gateway

import (
	"errors"
	"net/http"
	"time"

	"sluice/gateway/mirror/store"
)

// result answers with a picture of one of the team's tasks that the mirror keeps, also when the service knows the task no longer. A task
// of another team, one that there never was, and a picture that is not kept get the same answer.
func (p *polls) result(w *reply, r *http.Request, s *requestState) error {
	err := store.ErrAbsent
	if p.deps.Result != nil {
		err = p.deps.Result(w, r, s.Team, s.task, s.picture)
	}
	switch {
	case errors.Is(err, store.ErrAbsent):
		return refuse(refuseTask).say("There is no such task, or no such picture of it is kept.")
	case err != nil:
		return refuse(refuseClaim).say("The picture cannot be had from the store at the moment; send the request again.").because(err).retry(time.Second)
	}
	s.Task = s.task
	return nil
}
