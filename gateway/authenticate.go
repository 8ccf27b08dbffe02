package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"sluice/gateway/oidc"
	"sluice/gateway/refusal"
	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/event"
	"sluice/policy/teams"
	"sluice/telemetry"
)

var (
	errUpstreamKeySeen = errors.New("a client presented the service's own key: it has leaked and should be replaced")
	errRevoked         = errors.New("the key was revoked, or its team removed or disabled, while the request waited its turn")
	errNoSuchTeam      = errors.New("the team that the teams file gives the token does not exist or is disabled")
)

// authenticate finds the team of a request by its key or token, and checks that the team may use the endpoint. Every invalid key
// or token gets the same answer, so that a client learns nothing from it.
func authenticate(live *live, identities Identities, accepted func(context.Context), alarms *telemetry.Alarms) stage {
	return func(next handler) handler {
		return func(w *reply, r *http.Request, s *requestState) error {
			presented := wire.Bearer(r.Header["Authorization"])
			s.inForce = live.now.Load()
			team, key, ok := s.teams.Lookup(presented, s.start)
			switch {
			case ok:
				s.team, s.Team, s.Key, s.limits, s.ledgerKey = team, team.ID, key.ID, &key.KeyLimits, key.ID
			case live.pool.WithKey(presented) != "":
				alarms.Raise(telemetry.AlarmKeyPresented, live.pool.WithKey(presented), errUpstreamKeySeen.Error())
				return refuseKeyBecause(errUpstreamKeySeen)
			case identities != nil && oidc.IsToken(presented):
				if err := identify(r, s, identities, presented); err != nil {
					return refuseKeyBecause(err)
				}
			default:
				return refuseKeyBecause(nil)
			}
			if accepted != nil {
				accepted(r.Context())
			}
			if err := readTags(r, s); err != nil {
				return err
			}
			if err := mayUse(s.route, s.team); err != nil {
				return err
			}
			return next(w, r, s)
		}
	}
}

// identify finds the team of a token.
func identify(r *http.Request, s *requestState, identities Identities, token string) error {
	id, err := identities.Identify(r.Context(), token)
	s.waited += id.Waited
	if err != nil {
		return err
	}
	team := s.teams.Team(id.Team)
	if team == nil || team.Disabled {
		return errNoSuchTeam
	}
	s.team, s.Team, s.Key, s.limits, s.ledgerKey = team, team.ID, id.Key, &teams.KeyLimits{}, id.Name
	return nil
}

// allows looks the client's key up again in the teams file in force. It returns the team and the key's limits, or the refusal that a new
// request with this key would get now. For a token it checks only the team.
func (f *inForce) allows(s *requestState, now time.Time) (*teams.Team, *teams.KeyLimits, error) {
	presented, limits := wire.Bearer(s.header["Authorization"]), &teams.KeyLimits{}
	team, key, ok := f.teams.Lookup(presented, now)
	switch {
	case ok:
		limits = &key.KeyLimits
	case oidc.IsToken(presented):
		team = f.teams.Team(s.Team)
		ok = team != nil && !team.Disabled
	}
	if !ok || team.ID != s.Team {
		return nil, nil, refuseKeyBecause(errRevoked)
	}
	if err := mayUse(s.route, team); err != nil {
		return nil, nil, err
	}
	return team, limits, nil
}

// refuseKeyBecause refuses an invalid key; the reason is only logged.
func refuseKeyBecause(reason error) error {
	return refusal.New(refusal.Key).Say("A valid key of a team is required: Authorization: Bearer <key>.").Because(reason)
}

// readTags reads the request's tags, and the callback that announces its task's end. Neither header is sent to the service.
func readTags(r *http.Request, s *requestState) error {
	tags, err := policy.ParseTags(r.Header["Sluice-Tag"])
	if err != nil {
		return refusal.New(refusal.Tags).Say("Header Sluice-Tag: %s.", err)
	}
	s.Tags, s.tag = string(tags), tags.Value(s.team.TagKey)
	if s.callback, err = event.ReadCallback(r.Header["Sluice-Callback"], s.team.Hooks); err != nil {
		return refusal.New(refusal.Callback).Say("Header Sluice-Callback: allowed: %s.", err)
	}
	return nil
}
