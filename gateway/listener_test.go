package gateway_test

import (
	"context"
	"io"
	"testing"
	"time"

	"sluice/gateway"
	"sluice/policy/limit"
)

// A request that runs for longer than its lease keeps its hold.
func TestALongStreamKeepsItsHold(t *testing.T) {
	extended := make(chan time.Duration, 100)
	frames := make(stream)
	h := build(t, func(p *plan) {
		p.upstream = frames
		p.config.HeaderTimeout, p.config.IdleTimeout = 5*time.Second, 5*time.Second
		p.accounts = &keeping{Accounts: limit.NewMemory(p.now), extended: extended}
	})
	h.gateway.SetLease(40 * time.Millisecond)
	resp, err := h.client.Do(h.request("POST", textPath, textBody, "X-Service-SSE", "enable"))
	if err != nil {
		t.Fatal(err)
	}
	for n, done := 1, false; !done; n++ {
		frames <- n
		select {
		case lease := <-extended:
			done = lease == 40*time.Millisecond
		case <-time.After(5 * time.Millisecond): // time has to pass; the lease decides how much
		}
	}
	close(frames)
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	h.records.await(t, 1)
}

type keeping struct {
	gateway.Accounts
	extended chan time.Duration
}

func (k *keeping) Extend(ctx context.Context, h *limit.Held, lease time.Duration) error {
	k.extended <- lease
	return k.Accounts.Extend(ctx, h, lease)
}
