package gateway

import (
	"errors"
	"net/http"
	"net/netip"
	"time"

	"sluice/gateway/echo"
	"sluice/gateway/refusal"
	"sluice/gateway/wire"
)

// echoOf answers trials of the way to Sluice.
func echoOf(trials *echo.Trials, proxies []netip.Prefix) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		s.patience, s.preferred = wire.PreferredWait(r.Header)
		rested, err := trials.Answer(w, r, echo.Asked{RequestID: s.ID, Team: s.Team, Client: s.Client, Trusted: wire.IsTrusted(r, proxies), Wait: s.patience})
		s.waited += rested
		if errors.Is(err, echo.ErrBusy) {
			return refusal.New(refusal.Concurrent).Say("Team %s has %d trials of the way to Sluice under way, which is the most.", s.Team, echo.PerTeam).Retry(time.Second)
		}
		if err != nil {
			return refusal.New(refusal.Rules).Say("The query: %s.", err)
		}
		return nil
	}
}
