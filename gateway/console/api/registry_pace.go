package api

import (
	"fmt"
	"maps"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// What the members of one team may change together at one replica. Each change is kept in the audit for 400 days.
const (
	paceMost   = 300             // cancels at once
	paceEvery  = 2 * time.Second // and then one in this time
	costCancel = 1
	costKeys   = 10
	paceTeams  = 1000 // beyond so many teams, those whose members may change all of it again are forgotten
)

// auditMost is how many bytes the entries of a team may have on a day in UTC, for a change of its members to be one more. Operators'
// changes count, and are never refused. All replicas count together.
const auditMost = 4_000_000

// What members may change, for readiness and the documents.
const (
	PaceBound  = "changes by a team's members: 300 cancels or 30 changes of keys at once, then a cancel every 2 s or a key every 20 s"
	AuditBound = "entries in the audit by a team's members: 4 MB a day"
)

// pace is what members may still change, by team.
type pace struct {
	mu    sync.Mutex
	teams map[string]*rate.Limiter
}

// wait is how long the members of a team have to wait for a change of that cost; 0: they make it now.
func (p *pace) wait(team string, cost int, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.teams[team]
	if left == nil {
		if len(p.teams) >= paceTeams {
			maps.DeleteFunc(p.teams, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= paceMost })
		}
		if p.teams == nil {
			p.teams = map[string]*rate.Limiter{}
		}
		left = rate.NewLimiter(rate.Every(paceEvery), paceMost)
		p.teams[team] = left
	}
	if left.AllowN(now, cost) {
		return 0
	}
	return time.Duration(math.Ceil((float64(cost) - left.TokensAt(now)) * float64(paceEvery)))
}

// paced refuses a change of a member that is too many. The person may make it otherwise.
func (r *Registry) paced(a access.Actor, team string, cost int) error {
	if a.Changes() {
		return nil
	}
	wait := r.pace.wait(team, cost, r.Now())
	if wait == 0 {
		return nil
	}
	reach(r.PaceReached)
	return &teams.Problem{
		Code: teams.CodeOften, Text: "the team's members have changed too much lately", Wait: wait,
		Allowed: "300 cancels or 30 changes of keys at once, then one cancel every 2 s or one change of a key every 20 s",
		Advice:  fmt.Sprintf("wait %.0f s, or ask an operator", math.Ceil(wait.Seconds())),
	}
}

func reach(bound func()) {
	if bound != nil {
		bound()
	}
}
