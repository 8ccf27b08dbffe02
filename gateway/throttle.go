package gateway

import (
	"net/http"
	"time"
)

// throttle refuses what cannot be served now before its body is read.
func (g *Gateway) throttle(next handler) handler {
	return func(w *reply, r *http.Request, c *call) error {
		if err := g.takeSlot(w, c); err != nil {
			return err
		}
		c.taken = g.budget.share(c.team.ID)
		if hasBody(r) && !c.taken.free() {
			return refuseOutOfMemory()
		}
		return next(w, r, c)
	}
}

func refuseOutOfMemory() error {
	return refuse(refuseMemory).say("The memory for request bodies is taken by requests that run; send this one again.").retry(time.Second)
}
