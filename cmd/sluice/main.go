// Command sluice runs the gateway, and what an operator needs around it: a demonstration, an upstream simulator, a check
// of the configuration, and keys for teams.
//
// This package is the roof: flags, environment, files, signals and wiring. It decides nothing about requests.
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

// stopOnSignal asks for a clean stop at the first signal and ends the process at the second: whoever sends two has
// waited long enough.
func stopOnSignal(stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	<-signals
	stop()
	<-signals
	os.Exit(exitFailure)
}

// forgetSecrets takes the secrets out of the process's environment once they are read, so that no child process and no
// dump of the environment has them. What the kernel shows of the start (/proc/PID/environ) stays: prefer the _FILE forms.
func forgetSecrets() {
	for _, name := range secretNames {
		_ = os.Unsetenv(name)
	}
}
