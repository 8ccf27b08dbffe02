package limit_test

import (
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// What a refusal says of the smallest request holds for all: nothing where a smaller one, another value of the tag or another key may pass.
func TestTheLeastRefusal(t *testing.T) {
	const toMidnight, holds = 12 * time.Hour, 5 * time.Second
	quota := func(u unit.Name, used, held int64) limit.Standing {
		return limit.Standing{Unit: u, Period: teams.PeriodDay, Per: "day", Limit: 100, Used: used, Held: held, Left: 100 - used - held,
			Reset: toMidnight}
	}
	ofKey := quota(unit.NameRequests, 100, 0)
	ofKey.Scope = limit.ScopeKey
	for _, tt := range []struct {
		name   string
		v      limit.Verdict
		closes bool
		ok     bool
		asked  int64
		wait   time.Duration
	}{
		{"requests", limit.Verdict{Reason: limit.ReasonQuota, Fault: quota(unit.NameRequests, 100, 0), Asked: 1, Wait: toMidnight}, true, true,
			1, toMidnight},
		{"tokens", limit.Verdict{Reason: limit.ReasonQuota, Fault: quota(unit.NameTokens, 100, 0), Asked: 7, Wait: toMidnight}, true, true, 0,
			toMidnight},
		{"tokens that others hold", limit.Verdict{Reason: limit.ReasonHouse, Fault: quota(unit.NameTokens, 40, 60), Asked: 70, Wait: toMidnight},
			true, true, 0, holds},
		{"tokens of which some are left", limit.Verdict{Reason: limit.ReasonQuota, Fault: quota(unit.NameTokens, 40, 50), Asked: 70,
			Wait: toMidnight}, false, false, 0, 0},
		{"a rate of tokens", limit.Verdict{Reason: limit.ReasonRate, Fault: limit.Standing{Unit: unit.NameTokens, Per: "1m", Limit: 5},
			Asked: 70, Wait: holds}, true, false, 0, 0},
		{"a rate of requests", limit.Verdict{Reason: limit.ReasonRate, Fault: limit.Standing{Unit: unit.NameRequests, Per: "1m", Limit: 5},
			Asked: 1, Wait: holds}, true, true, 1, holds},
		{"images", limit.Verdict{Reason: limit.ReasonQuota, Fault: quota(unit.NameImages, 100, 0), Asked: 1, Wait: toMidnight}, true, false, 0,
			0},
		{"tasks", limit.Verdict{Reason: limit.ReasonTasks, Asked: 1, Wait: holds}, true, false, 0, 0},
		{"a key", limit.Verdict{Reason: limit.ReasonQuota, Fault: ofKey, Asked: 1, Wait: toMidnight}, false, false, 0, 0},
		{"an account", limit.Verdict{Reason: limit.ReasonAccount, Fault: quota(unit.NameRequests, 100, 0), Asked: 1, Wait: toMidnight}, false,
			false, 0, 0},
	} {
		tt.v.Limits = []limit.Standing{quota(unit.NameRequests, 1, 0), quota(unit.NameTokens, 1, 0), quota(unit.NameImages, 1, 0), ofKey}
		least, ok := tt.v.Least()
		if tt.v.Closes() != tt.closes || ok != tt.ok || ok && (least.Asked != tt.asked || least.Wait != tt.wait) {
			t.Errorf("%s: closes %t, %t, asked %d, wait %s", tt.name, tt.v.Closes(), ok, least.Asked, least.Wait)
		}
		if limits := len(least.Limits); ok && tt.v.Reason != limit.ReasonHouse &&
			limits != map[unit.Name]int{unit.NameRequests: 1, unit.NameTokens: 2}[tt.v.Fault.Unit] {
			t.Errorf("%s: %+v", tt.name, least.Limits)
		}
	}
	v := limit.Verdict{Reason: limit.ReasonQuota, Fault: quota(unit.NameRequests, 100, 0), Asked: 1, Wait: toMidnight,
		Limits: []limit.Standing{quota(unit.NameRequests, 100, 0)}}
	if later := v.After(time.Hour); later.Wait != 11*time.Hour || later.Fault.Reset != 11*time.Hour ||
		later.Limits[0].Reset != 11*time.Hour || v.Limits[0].Reset != toMidnight {
		t.Errorf("later: %+v", later)
	}
}

// The nodes of a cluster reckon the end of a day each by its own clock: of two quotas that end with it the narrower one is named.
func TestQuotasOfOnePeriodEndTogether(t *testing.T) {
	team, quota := limittest.Team(t, "quotas: {requests: {day: 3}}"), limit.Standing{Unit: unit.NameRequests, Period: teams.PeriodDay}
	later := quota
	later.Scope = limit.ScopeHouse
	for ahead, want := range map[time.Duration]limit.ScopeKind{-3 * time.Millisecond: limit.ScopeTeam, 3 * time.Millisecond: limit.ScopeTeam,
		24 * time.Hour: limit.ScopeHouse} {
		all := []limit.Verdict{{Reason: limit.ReasonQuota, Fault: quota, Wait: time.Hour},
			{Reason: limit.ReasonQuota, Fault: later, Wait: time.Hour + ahead}}
		h := &limit.Hold{Team: team, Outside: []limit.Scope{{Kind: limit.ScopeHouse, Document: team}}}
		if v, _ := limit.Among(h, all); v.Fault.Scope != want {
			t.Errorf("the house's wait is %v longer: %v is named", ahead, v.Fault.Scope)
		}
	}
}
