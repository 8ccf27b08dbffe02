package main

import (
	"time"

	"sluice/cmd/sluice/files"
	"sluice/gateway/hooks"
)

// posting says how events are posted to hooks.
func (s settings) posting() hooks.PosterConfig {
	return hooks.PosterConfig{Secret: files.Beside(s.TeamsFile), Networks: prefixes(s.HookNetworks), Now: time.Now}
}
