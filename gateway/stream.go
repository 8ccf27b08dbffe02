package gateway

import (
	"errors"
	"net/http"
	"time"

	"sluice/gateway/feed"
	"sluice/gateway/oidc"
	"sluice/gateway/refusal"
	"sluice/gateway/wire"
)

// streamOf answers with the team's events as they are written.
func streamOf(d *Deps, live *live) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		query, err := feed.ReadQuery(s.Team, r.URL.RawQuery, r.Header["Last-Event-Id"])
		if err != nil {
			return refusal.New(refusal.Rules).Say("%s.", err)
		}
		begun := d.Now()
		stream, err := d.Feed.Open(r.Context(), query)
		s.waited += d.Now().Sub(begun) // the client wanted the wait
		switch {
		case errors.Is(err, feed.ErrFull):
			return refusal.New(refusal.Concurrent).Say("Team %s has %d streams of events open at this gateway, which is all it may; end one first.", s.Team, feed.MostStreams).Retry(time.Second)
		case errors.Is(err, feed.ErrStopped):
			return refusal.Stopped()
		case err != nil:
			return refusal.New(refusal.State).Say("The events of team %s cannot be read at the moment; send the request again.", s.Team).Because(err).Retry(time.Second)
		}
		defer stream.Close()
		defer func(begun time.Time) { s.waited += d.Now().Sub(begun) - w.writing }(d.Now())
		_ = stream.Serve(r.Context(), w, func() error { // its error is the Record's: the client left
			if token := wire.Bearer(s.header["Authorization"]); d.Identities != nil && oidc.IsToken(token) {
				if _, err := d.Identities.Identify(r.Context(), token); err != nil {
					return err
				}
			}
			_, _, err := live.now.Load().allows(s, d.Now())
			return err
		})
		return nil
	}
}
