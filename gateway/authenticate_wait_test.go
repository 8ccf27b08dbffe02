package gateway_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sluice/gateway/oidc"
	"sluice/policy/teams"
)

// waiting names nobody, or one team, and says that it waited longer for the issuer than the whole request takes.
type waiting struct{ team string }

func (waiting) Follow([]*teams.Issuer) {}

func (w waiting) Identify(context.Context, string) (oidc.Workload, error) {
	if w.team == "" {
		return oidc.Workload{Waited: time.Hour}, errors.New("the issuer hangs")
	}
	return oidc.Workload{Team: w.team, Key: "jwt:0123456789ab", Waited: time.Hour}, nil
}

// TestTheWaitForAnIssuerIsNotOverhead: neither in the header nor in the record, whether the token is taken or refused.
func TestTheWaitForAnIssuerIsNotOverhead(t *testing.T) {
	for team, status := range map[string]int{"search": 200, "": 401} {
		h := build(t, func(p *plan) { p.tokens = waiting{team} })
		got := h.ask("GET", tasksPath, "", "Authorization", "Bearer a.b.c")
		if got.status != status {
			t.Fatalf("%d %s", got.status, got.body)
		}
		record := h.records.await(t, 1)[0]
		if told := got.header.Get("Server-Timing"); told != "sluice;dur=0.0" || record.Overhead != 0 {
			t.Errorf("%d: Server-Timing %q, overhead %v of %v", status, told, record.Overhead, record.Duration)
		}
	}
}
