package main

import (
	"time"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/hooks"
)

// posting says how events are posted to hooks.
func posting(s settings.Settings) hooks.PosterConfig {
	return hooks.PosterConfig{Secret: files.Beside(s.TeamsFile), Networks: settings.Prefixes(s.HookNetworks), Now: time.Now, Tunnel: tunnel(&s)}
}
