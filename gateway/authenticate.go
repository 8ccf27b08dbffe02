package gateway

import (
	"errors"
	"net/http"
	"strings"
)

// maxKey is the length of the longest key that is looked up, in bytes.
const maxKey = 256

var errUpstreamKeySeen = errors.New("a client presented the service's own key: it has leaked and should be replaced")

// authenticate finds the team of a request by its key, and checks that the team may use the endpoint. Every invalid key gets
// the same answer, so that a client learns nothing from it.
func authenticate(live *live, alarms *alarms) stage {
	return func(next handler) handler {
		return func(w *reply, r *http.Request, s *requestState) error {
			presented := bearer(r.Header["Authorization"])
			s.teams = live.teams.Load()
			team, key, ok := s.teams.Lookup(presented, s.start)
			if !ok {
				refused := refuse(refuseKey).say("A valid key of a team is required: Authorization: Bearer <key>.")
				if live.key.Load().Is(presented) {
					alarms.raise(alarmKeyPresented, errUpstreamKeySeen.Error())
					return refused.because(errUpstreamKeySeen)
				}
				return refused
			}
			s.team, s.Team, s.Key = team, team.ID, key.ID
			if err := mayUse(s); err != nil {
				return err
			}
			return next(w, r, s)
		}
	}
}

// mayUse checks that the team may use the route's endpoint.
func mayUse(s *requestState) error {
	if s.route.endpoint != "" && !s.team.MayUse(s.route.endpoint) {
		return refuse(refuseEndpoint).say("Team %s may not use the endpoint %s.", s.Team, s.route.endpoint)
	}
	return nil
}

// bearer returns the presented key. It is "" unless there is exactly one that every reader of the header would agree on. The
// scheme may be in any case, as real clients send it.
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
