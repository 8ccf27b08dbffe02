package main

import (
	"context"
	"fmt"
	"net"
	"time"
)

// healthTimeout is shorter than the usual period of a container's healthcheck.
const healthTimeout = 3 * time.Second

// healthCommand is sluice health.
type healthCommand struct{}

// Run asks the admin listener that the environment names. Faults in other settings do not matter: the running process may
// have been started with others.
func (healthCommand) Run(ctx context.Context, p program) error {
	s, err := settingsFor(p.environ, "ADMIN_LISTEN")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	if _, err := askAdmin(ctx, "http://"+dialable(s.AdminListen)+"/healthz"); err != nil {
		return fmt.Errorf("not healthy: %w", err)
	}
	return nil
}

// dialable turns an address to listen at into one to dial: loopback, if it listens at every address.
func dialable(listen string) string {
	host, port, _ := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port)
}
