// Package peers tests whether a gateway's peers can be reached: it calls each, and reports how long that took. It promises that no line
// contains a key or any part of an answer but its status.
package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// patience bounds all calls.
const patience = 10 * time.Second

// Peer is something that a gateway connects to. Try returns how long one call took, a warning, and why it failed, without its address.
type Peer struct {
	Name string
	Try  func(ctx context.Context) (took time.Duration, warning string, err error)
}

// Try calls all peers concurrently, writes a line for each in order, and returns an error if one is wrong.
func Try(ctx context.Context, w io.Writer, all []Peer) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lines, faults := make([]string, len(all)), make([]error, len(all))
	var running sync.WaitGroup
	for i, p := range all {
		running.Go(func() {
			took, warning, err := p.Try(ctx)
			faults[i] = err
			switch {
			case err != nil:
				lines[i] = fmt.Sprintf("wrong: %s: %v", p.Name, Plain(err))
			case warning != "":
				lines[i] = fmt.Sprintf("warning: %s, %s: %s", p.Name, shown(took), warning)
			default:
				lines[i] = fmt.Sprintf("ok: %s, %s", p.Name, shown(took))
			}
		})
	}
	running.Wait()
	failed := 0
	for i, line := range lines {
		if faults[i] != nil {
			failed++
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	switch failed {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("1 of %d is wrong", len(all))
	}
	return fmt.Errorf("%d of %d are wrong", failed, len(all))
}

// shown returns a time in ms with one decimal.
func shown(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

// Plain returns an error without the called address, which may be a secret.
func Plain(err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("its name: %s", lookup.Err)
	}
	if outer, ok := errors.AsType[*net.OpError](err); ok {
		return outer.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", patience)
	}
	return err
}

// Get returns a GET that expects one of the statuses and follows no redirect. key is sent as a Bearer token; empty: none.
func Get(trip http.RoundTripper, address, key string, statuses ...int) func(context.Context) (time.Duration, string, error) {
	return func(ctx context.Context) (time.Duration, string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			return 0, "", errors.New("its address cannot be called")
		}
		request.Header.Set("User-Agent", "sluice-check")
		if key != "" {
			request.Header.Set("Authorization", "Bearer "+key)
		}
		begun := time.Now()
		answer, err := trip.RoundTrip(request)
		if err != nil {
			return 0, "", err
		}
		_ = answer.Body.Close()
		took := time.Since(begun)
		switch status := answer.StatusCode; {
		case slices.Contains(statuses, status):
			return took, "", nil
		case status == http.StatusUnauthorized || status == http.StatusForbidden:
			return took, "", fmt.Errorf("the key is refused with %d", status)
		default:
			return took, "", fmt.Errorf("answered with %d", status)
		}
	}
}

// RoundTrip returns the least of five calls, the first of which may have to connect. It warns if four times that exceeds the timeout.
func RoundTrip(timeout time.Duration, call func(context.Context) error) func(context.Context) (time.Duration, string, error) {
	const calls, fit = 5, 4
	return func(ctx context.Context) (least time.Duration, warning string, err error) {
		for i := range calls {
			begun := time.Now()
			if err := call(ctx); err != nil {
				return 0, "", err
			}
			if took := time.Since(begun); i == 0 || took < least {
				least = took
			}
		}
		if timeout < fit*least {
			warning = fmt.Sprintf("SLUICE_REDIS_TIMEOUT is %s, and a pause would count as an outage; set it to at least four round trips, %s",
				timeout, (fit * least).Round(time.Millisecond))
		}
		return least, warning, nil
	}
}
