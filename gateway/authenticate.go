package gateway

import (
	"errors"
	"net/http"
	"strings"
)

// maxKey is the longest key that is looked at, in bytes.
const maxKey = 256

var errUpstreamKeySeen = errors.New("a client presented the service's own key: it has leaked and should be replaced")

// authenticate finds whose request it is, and whether that team may use the endpoint. Every way in which a key can be
// wrong has one answer, so that nothing can be learnt from it.
func (g *Gateway) authenticate(next handler) handler {
	return func(w *reply, r *http.Request, c *call) error {
		presented := bearer(r.Header["Authorization"])
		c.teams = g.teams.Load()
		team, key, ok := c.teams.Lookup(presented, c.start)
		if !ok {
			return g.unknownKey(presented)
		}
		c.team, c.Team, c.Key = team, team.ID, key.ID
		if c.route.endpoint != "" && !team.MayUse(c.route.endpoint) {
			return refuse(refuseEndpoint).say("Team %s may not use the endpoint %s.", team.ID, c.route.endpoint)
		}
		return next(w, r, c)
	}
}

func (g *Gateway) unknownKey(presented string) error {
	refused := refuse(refuseKey).say("A valid key of a team is required: Authorization: Bearer <key>.")
	if g.upstreamKey.Load().Is(presented) {
		g.alarm(alarmKeyPresented, errUpstreamKeySeen.Error())
		return refused.because(errUpstreamKeySeen)
	}
	return refused
}

// bearer returns the one key presented, or "" when there is none or when two readers could differ over which it is.
// The scheme may be in any case, as real clients send it.
func bearer(values []string) string {
	if len(values) != 1 {
		return ""
	}
	scheme, key, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || len(key) > maxKey || strings.ContainsAny(key, " \t,") {
		return ""
	}
	return key
}
