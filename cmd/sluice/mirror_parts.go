package main

import (
	"net/http"
	"strings"
	"time"

	"sluice/cmd/sluice/settings"
	"sluice/gateway/mirror"
	"sluice/gateway/mirror/store"
	"sluice/gateway/upstream"
	"sluice/policy/teams"
)

// openPictures opens the store of pictures; nil: there is none.
func (c *configuration) openPictures() (store.Store, error) {
	if c.MirrorURL.String() == "" {
		return nil, nil
	}
	direct := upstream.Tunnel{Roots: c.authorities.Roots} // no proxy: the store is the operator's own
	s, err := store.Open(c.MirrorURL, c.Mirror, direct.DialTLSContext)
	if err != nil {
		return nil, settings.Faults{{Name: settings.Prefix + "MIRROR_URL", Text: err.Error()}}
	}
	return s, nil
}

// resultOf returns a handler of stored pictures; nil: none are stored.
func resultOf(pictures store.Store, proxy bool) func(w http.ResponseWriter, r *http.Request, team, task string, picture int) error {
	if pictures == nil {
		return nil
	}
	return (&mirror.Results{Store: pictures, Proxy: proxy}).Serve
}

// credentials returns a bucket's keys from the environment variables that AWS's libraries use.
func credentials(environ []string) (k store.Keys) {
	for _, assignment := range environ {
		switch name, value, _ := strings.Cut(assignment, "="); name {
		case "AWS_ACCESS_KEY_ID":
			k.ID = value
		case "AWS_SECRET_ACCESS_KEY":
			k.Secret = value
		case "AWS_SESSION_TOKEN":
			k.Token = value
		}
	}
	return k
}

// keptFor returns how long pictures are kept, by team, for the teams whose pictures are stored.
func keptFor(file *teams.File) map[string]time.Duration {
	all := map[string]time.Duration{}
	for _, team := range file.List {
		if team.Mirror > 0 {
			all[team.ID] = team.Mirror
		}
	}
	return all
}
