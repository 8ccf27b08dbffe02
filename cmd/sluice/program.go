package main

import (
	"errors"
	"fmt"
	"io"
)

// Exit codes.
const (
	exitClean   = 0 // done, or stopped when asked to
	exitFailure = 1 // a failure that is not the configuration's
	exitFaulty  = 2 // the configuration or the command line is faulty
)

// program has the parts of the process that a command may use.
type program struct {
	environ        []string // in the form of os.Environ
	stdout, stderr io.Writer
}

// badUsage is a faulty command line.
type badUsage struct{ error }

// report writes an error and returns its exit code.
func report(stderr io.Writer, err error) int {
	var fs faults
	var usage badUsage
	switch {
	case err == nil:
		return exitClean
	case errors.As(err, &fs):
		_, _ = fmt.Fprintf(stderr, "sluice: the configuration is faulty:\n%v\n", fs)
		return exitFaulty
	case errors.As(err, &usage):
		_, _ = fmt.Fprintf(stderr, "sluice: %v (try sluice --help)\n", usage)
		return exitFaulty
	}
	_, _ = fmt.Fprintf(stderr, "sluice: %v\n", err)
	return exitFailure
}
