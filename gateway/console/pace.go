package console

import (
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"sluice/gateway/console/access"
)

// PaceBound is the pace of one person, in words.
const PaceBound = "requests to the console: 20 a second for each person, 100 at once; the same apart for programs and for live parts"

const (
	paceRate  = 20
	paceBurst = 100
	mostPaced = 10_000 // who are remembered; beyond it those who have rested are forgotten, and all if nobody has
)

// pace says how fast people use the console.
type pace struct {
	mu     sync.Mutex
	people map[string]*rate.Limiter
}

// takes reports whether somebody may send a request.
func (p *pace) takes(who string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	limiter := p.people[who]
	if limiter == nil {
		p.makeRoom(now)
		limiter = rate.NewLimiter(paceRate, paceBurst)
		p.people[who] = limiter
	}
	return limiter.AllowN(now, 1)
}

func (p *pace) makeRoom(now time.Time) {
	if len(p.people) < mostPaced {
		return
	}
	for who, limiter := range p.people {
		if limiter.TokensAt(now) >= paceBurst {
			delete(p.people, who)
		}
	}
	if len(p.people) >= mostPaced {
		clear(p.people)
	}
}

// paced refuses a request of a person who sends too many. What an operator changes does not count: many teams may be changed at once.
func (c *console) paced(w http.ResponseWriter, r *http.Request, p access.Person) bool {
	if p.Changes() && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return true
	}
	who := "person " + p.Name
	if isProgram(r) {
		who = "program " + p.Name
	}
	if isStream(r) {
		who = "live " + who
	}
	if c.pace.takes(who, c.deps.Now()) {
		return true
	}
	c.deps.Hurried()
	w.Header().Set("Retry-After", "1")
	c.refuse(w, r, http.StatusTooManyRequests, "You send more than 20 requests a second. Wait a second, and send them more slowly.")
	return false
}
