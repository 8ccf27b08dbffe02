package main

import (
	"path/filepath"
	"time"

	"sluice/cmd/sluice/files"
	"sluice/gateway/hooks"
	"sluice/gateway/upstream"
	"sluice/policy/teams"
)

// hookSecret reads a secret of a hook, whose path is from the folder of the teams file.
func (s settings) hookSecret(path string) (upstream.Secret, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(s.TeamsFile), path)
	}
	return files.Secret(path)
}

// poster posts events to hooks.
func (s settings) poster() *hooks.Poster {
	return hooks.NewPoster(hooks.PosterConfig{Secret: s.hookSecret, Networks: prefixes(s.HookNetworks), Now: time.Now})
}

// hookFaults are the faults of the hooks of a file beside their form.
func (s settings) hookFaults(file *teams.File) faults {
	return documentFaults(prefix+"TEAMS_FILE", hooks.Faults(file, prefixes(s.HookNetworks), s.hookSecret))
}
