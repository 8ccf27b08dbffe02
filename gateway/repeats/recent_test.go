package repeats

import (
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// quota is a refusal by a quota of requests that is used up.
func quota(reason limit.Reason, wait time.Duration) *limit.Verdict {
	scope := limit.ScopeTeam
	if reason == limit.ReasonHouse {
		scope = limit.ScopeHouse
	}
	fault := limit.Standing{Unit: unit.NameRequests, Period: teams.PeriodDay, Limit: 5, Used: 5, Scope: scope}
	return &limit.Verdict{Reason: reason, Fault: fault, Wait: wait, Asked: 1}
}

func text(team, key string, inside bool) *Asked {
	return &Asked{Team: team, Text: true, Inside: inside, Alike: Alike{Key: key}}
}

func pictures(team string) *Asked {
	return &Asked{Team: team, Alike: Alike{Size: limit.Amounts{limit.Requests: 1, limit.Images: 2}}}
}

// Of the refusals that hold for a request the one that waits longest is told, whoever's it is.
func TestTheLongestWaitIsRecalled(t *testing.T) {
	for _, tt := range []struct{ own, house, want time.Duration }{{time.Minute, time.Hour, time.Hour}, {time.Hour, time.Minute, time.Hour}} {
		r, now := New(), time.Now()
		r.Remember(text("search", "", false), quota(limit.ReasonQuota, tt.own), now)
		r.Remember(text("shop", "", false), quota(limit.ReasonHouse, tt.house), now)
		if v, ok := r.Recall(text("search", "", false), now.Add(time.Millisecond)); !ok || v.Wait != tt.want-time.Millisecond {
			t.Errorf("of %v and %v: %v, %v", tt.own, tt.house, v.Wait, ok)
		}
	}
}

// A key with limits of its own may have to wait longer than the team: only its own refusal is told it.
func TestAKeyWithLimitsIsToldItsOwnRefusal(t *testing.T) {
	r, now := New(), time.Now()
	r.Remember(text("search", "one", true), quota(limit.ReasonQuota, time.Minute), now)
	for _, tt := range []struct {
		asked *Asked
		want  bool
	}{{text("search", "one", true), true}, {text("search", "two", true), false}, {text("search", "two", false), true}} {
		if _, ok := r.Recall(tt.asked, now); ok != tt.want {
			t.Errorf("%+v: %v", tt.asked, ok)
		}
	}
}

// A rate of the account that waits longer does not undo the memory of the team's own refusal.
func TestTheRefusalBehindTheAccountsIsRemembered(t *testing.T) {
	r, now := New(), time.Now()
	rate := teams.Rate{Unit: unit.NameRequests, Limit: 1, Per: time.Hour, PerText: "1h", Burst: 1}
	for _, asked := range []*Asked{text("search", "", false), pictures("shop")} {
		told := quota(limit.ReasonQuota, time.Minute).OrOutside(rate, time.Hour, &limit.Hold{Team: &teams.Team{ID: asked.Team}})
		r.Remember(asked, &told, now)
		v, ok := r.Recall(asked, now)
		if want := map[bool]limit.Reason{true: limit.ReasonQuota, false: limit.ReasonAccount}[asked.Text]; !ok || v.Reason != want {
			t.Errorf("%+v: %v, %s", asked, ok, v.Reason)
		}
	}
}

// A charge that comes while the house's refusal is remembered drops it: a mark that is gone is none.
func TestAChargeWhileTheHousesRefusalIsRemembered(t *testing.T) {
	r, now := New(), time.Now()
	r.Remember(pictures("search"), quota(limit.ReasonHouse, time.Minute), now)
	if _, ok := r.Recall(pictures("search"), now); !ok {
		t.Fatal("it is not remembered")
	}
	all := r.all.Load()
	all.Get("search")[needsPictures].Load().charged = nil // dropped between the mark and its reading
	all.house.forget()
	if v, ok := r.Recall(pictures("search"), now); ok {
		t.Errorf("%+v", v)
	}
}
