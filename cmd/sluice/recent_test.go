package main

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"sluice/telemetry/recent"
)

// TestEveryRequestIsCountedOnce sends requests to two replicas until both have stopped cleanly.
func TestEveryRequestIsCountedOnce(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	one := serving(t, "http://127.0.0.1:1", "SLUICE_REDIS_URL="+redis.url())
	two := serving(t, "http://127.0.0.1:1", "SLUICE_REDIS_URL="+redis.url())
	const each = 150
	client := newClient(t)
	began := time.Now()
	var sending sync.WaitGroup
	for _, address := range []string{one.public, two.public} {
		for range 3 {
			sending.Go(func() {
				for range each / 3 {
					answer, err := client.Get("http://" + address + "/api/v1/tasks/absent")
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, answer.Body)
					_ = answer.Body.Close()
					if answer.StatusCode != http.StatusUnauthorized {
						t.Errorf("status %d, want 401", answer.StatusCode)
					}
				}
			})
		}
	}
	sending.Wait()
	client.CloseIdleConnections()
	for _, h := range []*house{one, two} {
		if code := h.stop(); code != exitClean {
			t.Errorf("exit code %d; the log:\n%s", code, h.log.bytes())
		}
	}

	s := recent.NewRedis(redis.admin, time.Now)
	minutes, err := s.Minutes(t.Context(), []string{""}, began.Truncate(time.Minute), time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	var all recent.Counts
	for i := range minutes {
		all.Add(&minutes[i].Counts)
	}
	if all.Requests != 2*each || all.Refusals["authenticate/key"] != 2*each {
		t.Errorf("%+v are counted, want %d requests with a wrong key", all, 2*each)
	}
	page, err := s.Requests(t.Context(), recent.Filter{Status: http.StatusUnauthorized, Size: 500})
	if err != nil || len(page.Requests) != 2*each || page.Next != "" {
		t.Errorf("%d requests are kept, %q, %v; want %d", len(page.Requests), page.Next, err, 2*each)
	}
}
