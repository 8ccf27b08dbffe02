package main

import (
	"errors"
	"fmt"
	"io"
	"os/signal"
	"runtime/debug"
	"syscall"

	"sluice/cmd/sluice/settings"
)

// Exit codes.
const (
	exitClean   = 0 // success, or stopped on request
	exitFailure = 1 // any other failure
	exitFaulty  = 2 // the configuration or the command line is faulty
)

// program holds the parts of the process that a command may use.
type program struct {
	environ        []string // in the form of os.Environ
	stdout, stderr io.Writer
}

// outliveReaders lets the process live on when the reader of its standard output or standard error is gone: a write then only fails. A
// gateway drains and settles before it ends.
func outliveReaders() { signal.Ignore(syscall.SIGPIPE) }

// badUsage is a faulty command line.
type badUsage struct{ error }

// badInput is a fault of a command's input file, or another reason why it cannot answer.
type badInput struct{ error }

func (b badInput) Unwrap() error { return b.error }

// report writes an error and returns its exit code.
func report(stderr io.Writer, err error) int {
	var fs settings.Faults
	var usage badUsage
	var input badInput
	switch {
	case err == nil:
		return exitClean
	case errors.As(err, &fs):
		_, _ = fmt.Fprintf(stderr, "sluice: the configuration is faulty:\n%v\n", fs)
		return exitFaulty
	case errors.As(err, &usage):
		_, _ = fmt.Fprintf(stderr, "sluice: %v (try sluice --help)\n", usage)
		return exitFaulty
	case errors.As(err, &input):
		_, _ = fmt.Fprintf(stderr, "sluice: %v\n", input)
		return exitFaulty
	}
	_, _ = fmt.Fprintf(stderr, "sluice: %v\n", err)
	return exitFailure
}

// versionCommand is sluice version.
type versionCommand struct{}

// Run prints the build's facts, one a line.
func (versionCommand) Run(p program) error {
	b := readBuild()
	_, err := fmt.Fprintf(p.stdout, "sluice %s\ngo %s\nrevision %s\n", b.version, b.goVersion, b.revision)
	return err
}

// build is the binary's version and source.
type build struct {
	version   string // of the module; "(devel)" when built from a checkout
	goVersion string
	revision  string // of version control, with "+changes" if the checkout had some; "unknown" without one
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
