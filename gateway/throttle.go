package gateway

import (
	"net/http"
	"time"
)

// A key may send so many broken requests a second, and so many at once, before its requests are not read any more.
const (
	brokenRate  = 50
	brokenBurst = 200
)

// throttle refuses what cannot be served now before its body is read.
func (g *Gateway) throttle(next handler) handler {
	return func(w *reply, r *http.Request, c *call) error {
		if wait := g.strikes.Out(c.Key); wait > 0 {
			return refuse(refuseBroken).say("This key sent more than %d broken requests a second; the next is read in %s.", brokenRate, shown(wait)).retry(wait)
		}
		if r := g.memos.recall(c, c.start); r != nil && !c.team.Shadow {
			return r.again(w, c.start)
		}
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
