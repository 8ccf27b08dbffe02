package main

import (
	"fmt"
	"runtime/debug"
)

// versionCommand is sluice version.
type versionCommand struct{}

// Run prints the build's facts, one a line.
func (versionCommand) Run(p program) error {
	b := readBuild()
	_, err := fmt.Fprintf(p.stdout, "sluice %s\ngo %s\nrevision %s\n", b.version, b.goVersion, b.revision)
	return err
}

// build tells the binary's version and source.
type build struct {
	version   string // of the module; "(devel)" when built from a checkout
	goVersion string
	revision  string // of version control, "+changes" behind it when the checkout had some; "unknown" without one
}

func readBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{"unknown", "unknown", "unknown"}
	}
	return buildOf(info)
}

func buildOf(info *debug.BuildInfo) build {
	settings := make(map[string]string)
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	b := build{info.Main.Version, info.GoVersion, settings["vcs.revision"]}
	if b.version == "" {
		b.version = "(devel)"
	}
	if b.revision == "" {
		b.revision = "unknown"
	}
	if settings["vcs.modified"] == "true" {
		b.revision += "+changes"
	}
	return b
}
