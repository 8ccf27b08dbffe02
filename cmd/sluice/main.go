// Command sluice runs the gateway, and what an operator needs around it: a demonstration, an upstream simulator, a check
// of the configuration, and keys for teams.
//
// This package is flags, environment, files, signals and wiring. It decides nothing about requests.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	go stopOnSignal(stop)
	environ := os.Environ()
	forgetSecrets()
	os.Exit(run(ctx, program{environ, os.Stdout, os.Stderr}, os.Args[1:]))
}

// stopOnSignal asks for a clean stop at the first signal and ends the process at the second.
func stopOnSignal(stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	<-signals
	stop()
	<-signals
	os.Exit(exitFailure)
}

// forgetSecrets removes the secrets from the process's environment once they are read, so that child processes and dumps do
// not have them. They stay in /proc/PID/environ: prefer the _FILE forms.
func forgetSecrets() {
	for _, name := range secretNames {
		_ = os.Unsetenv(name)
	}
}
