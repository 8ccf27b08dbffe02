package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy"
)

// TestModesOverride: a team's modes take precedence over the gateway's, and neither is changed.
func TestModesOverride(t *testing.T) {
	gateway := policy.Modes{"a": policy.ModeWarn, "b": policy.ModeWarn}
	team := policy.Modes{"b": policy.ModeOff, "c": policy.ModeRefuse}
	for _, tt := range []struct{ under, over, want policy.Modes }{
		{gateway, team, policy.Modes{"a": policy.ModeWarn, "b": policy.ModeOff, "c": policy.ModeRefuse}},
		{gateway, nil, gateway},
		{nil, team, team},
		{nil, nil, nil},
	} {
		if diff := cmp.Diff(tt.want, tt.under.Override(tt.over)); diff != "" {
			t.Errorf("%v over %v: -want +got:\n%s", tt.over, tt.under, diff)
		}
	}
	if gateway.Of("b", policy.ModeOff) != policy.ModeWarn || team.Of("b", policy.ModeWarn) != policy.ModeOff {
		t.Error("Override changed its arguments")
	}
	if got := team.Of("a", policy.ModeRefuse); got != policy.ModeRefuse {
		t.Errorf("a rule that is not set is %s, want its own mode", got)
	}
}
