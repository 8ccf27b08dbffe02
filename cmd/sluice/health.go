package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// healthTimeout is shorter than the default period of any container's healthcheck.
const healthTimeout = 3 * time.Second

// healthCommand is sluice health.
type healthCommand struct{}

// Run asks the admin listener that the environment names. Nothing else of the configuration has to be right for that:
// the process that runs may have been started with better.
func (healthCommand) Run(ctx context.Context, p program) error {
	s, err := loadSettings(p.environ)
	var fs faults
	if errors.As(err, &fs) {
		for _, f := range fs {
			if f.Name == prefix+"ADMIN_LISTEN" {
				return faults{f}
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	return askHealth(ctx, "http://"+dialable(s.AdminListen)+"/healthz")
}

func askHealth(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	// A client of its own: the default one would obey HTTP_PROXY.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("not healthy: %w", err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("not healthy: %s answers %s", url, answer.Status)
	}
	return nil
}

// dialable turns an address to listen at into one to ask: a listener at every address hears the loopback one.
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
