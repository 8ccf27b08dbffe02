package main

import (
	"time"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/hooks"
)

// posting returns the configuration for posting events to hooks, without the tunnel.
func posting(s settings.Settings) hooks.PosterConfig {
	return hooks.PosterConfig{Secret: files.Beside(s.TeamsFile), Networks: settings.Prefixes(s.HookNetworks), Now: time.Now}
}

// poster returns what posts events to hooks.
func (c *configuration) poster() *hooks.Poster {
	config := posting(c.Settings)
	config.Tunnel = c.tunnel()
	return hooks.NewPoster(config)
}
