package redisstore

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// of is a hold of some tokens for a value of the tag.
func of(id, tag string, team *teams.Team, tokens int64) limit.Hold {
	h := hold(id, team, limit.Amounts{limit.Requests: 1, limit.Tokens: tokens})
	h.Tag = tag
	return h
}

// Each value of the tag has the same quota of its own, beside those of the team. A refusal names the value.
func TestEachValueHasItsQuota(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "tag_key: project", "tag_quotas: {tokens: {day: 10, month: 1000}}", "quotas: {tokens: {day: 25}}")
		a := f.ask(of("a", "alpha", team, 8)).Held
		for _, tt := range []struct {
			id, tag string
			tokens  int64
			fault   string // empty: it is admitted
			left    int64
		}{
			{"over", "alpha", 3, "tokens-day-tag alpha", 2},
			{"fits", "alpha", 2, "", 0},
			{"other value", "beta", 10, "", 0},
			{"the team's", "gamma", 6, "tokens-day ", 5},
			{"without", "", 5, "", 0},
		} {
			v := f.ask(of(tt.id, tt.tag, team, tt.tokens))
			fault := ""
			if v.Reason != limit.ReasonNone {
				fault = v.Fault.Name() + " " + v.Fault.Of
			}
			if fault != tt.fault || (v.Held != nil) != (fault == "") || v.Fault.Left != tt.left ||
				fault != "" && (v.Asked != tt.tokens || v.Reason != limit.ReasonQuota || v.Wait != 5*time.Second) {
				f.Errorf("%s: %q, left %d, wait %v, asked %d; want %q, %d left", tt.id, fault, v.Fault.Left, v.Wait, v.Asked, tt.fault, tt.left)
			}
			if n := len(v.Limits); n != 3 || v.Limits[1].Name() != "tokens-day-tag" || v.Limits[2].Name() != "tokens-month-tag" ||
				v.Limits[1].Of != tt.tag {
				f.Errorf("%s: %+v", tt.id, v.Limits)
			}
		}
		f.charge(a, team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10})
		if v := f.ask(of("used", "alpha", team, 1)); v.Fault.Of != "alpha" || v.Wait != 12*time.Hour || v.Fault.Used != 10 || v.Fault.Held != 2 {
			f.Errorf("used up: %+v", v)
		}
		f.clock.Move(12 * time.Hour)
		if v := f.ask(of("tomorrow", "alpha", team, 10)); v.Held == nil || v.Limits[2].Held != 10 || v.Limits[2].Used != 12 { // 2 expired
			f.Errorf("the next day: %+v", v)
		}
	})
}

// Requests without the tag share one quota, and so do those with values beyond the first thousand of a day.
func TestTagQuotasCannotBeDodged(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "tag_key: project", "tag_quotas: {tokens: {day: 10}}")
		f.ask(of("without", "", team, 9))
		if v := f.ask(of("without again", "", team, 2)); v.Held != nil || v.Fault.Scope != limit.ScopeTag || v.Fault.Of != "" {
			f.Errorf("without the tag: %+v", v)
		}
		for n := range 1000 {
			if v := f.ask(of(fmt.Sprint("v", n), fmt.Sprintf("v%d", n), team, 9)); v.Held == nil {
				f.Fatalf("value %d: %+v", n, v)
			}
		}
		first := f.ask(of("one more", "invented", team, 9)).Held
		if v := f.ask(of("another", "also-invented", team, 2)); first == nil || v.Held != nil || v.Fault.Scope != limit.ScopeTag ||
			v.Fault.Of != "other" {
			f.Errorf("beyond a thousand: %+v", v)
		}
		if v := f.ask(of("said so", "other", team, 2)); v.Held != nil || v.Fault.Scope != limit.ScopeTag || v.Fault.Of != "other" {
			f.Errorf("the value other: %+v", v)
		}
		if v := f.ask(of("known", "v999", team, 1)); v.Held == nil {
			f.Errorf("a known value: %+v", v)
		}
		f.charge(first, team, limit.Amounts{limit.Requests: 1, limit.Tokens: 1})
		if v := f.ask(of("room", "third-invented", team, 9)); v.Held == nil {
			f.Errorf("what was not used is given back to the others: %+v", v)
		}
		if rows := f.tags(); len(rows) != 1 || rows[0].Tag != limit.Other {
			f.Errorf("the ledger of tags has %+v", rows)
		}
	})
}

// Quotas that a reload adds count earlier use of the day and month, and later holds; earlier holds are settled as they were made.
func TestTagQuotasOfAReload(t *testing.T) {
	forms(t, func(f *form) {
		without, with := limittest.Team(f, "tag_key: project"), limittest.Team(f, "tag_key: project",
			"tag_quotas: {tokens: {day: 10, month: 15}}")
		f.charge(f.ask(of("yesterday", "alpha", without, 7)).Held, without, limit.Amounts{limit.Tokens: 7})
		f.clock.Move(24 * time.Hour)
		f.charge(f.ask(of("today", "alpha", without, 4)).Held, without, limit.Amounts{limit.Tokens: 4})
		open := f.ask(of("open", "alpha", without, 100)).Held
		v := f.ask(of("more", "alpha", with, 5))
		if v.Held != nil || v.Fault.Name() != "tokens-month-tag" || v.Fault.Used != 11 || v.Fault.Held != 0 {
			f.Errorf("more than the month: %+v", v)
		}
		h := f.ask(of("fits", "alpha", with, 4)).Held
		f.charge(open, with, limit.Amounts{})
		f.charge(h, without, limit.Amounts{limit.Tokens: 2})
		want := []limit.Standing{
			{Unit: unit.NameTokens, Period: teams.PeriodMonth, Per: "month", Limit: 15, Used: 13, Left: 2, Scope: limit.ScopeTag, Of: "alpha"},
			{Unit: unit.NameTokens, Period: teams.PeriodDay, Per: "day", Limit: 10, Used: 6, Left: 4, Scope: limit.ScopeTag, Of: "alpha"},
		}
		got := f.lookTags(with)
		for i := range got {
			got[i].Window, got[i].Reset = 0, 0
		}
		if diff := cmp.Diff([]limit.Standing{want[1], want[0]}, got); diff != "" {
			f.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A hold whose lease ends is charged to its value, and corrected by the truth.
func TestTagQuotasOfAnExpiredHold(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "tag_key: project", "tag_quotas: {images: {day: 5}}")
		h := hold("task", team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
		h.Tag, h.Task = "alpha", true
		held := f.ask(h).Held
		next := func(id string, images int64) bool {
			h := hold(id, team, limit.Amounts{limit.Requests: 1, limit.Images: images})
			h.Tag = "alpha"
			return f.ask(h).Held != nil
		}
		f.clock.Move(2 * time.Hour)
		if next("two more", 2) {
			f.Error("an expired hold of 4 and 2 more fit into 5")
		}
		f.charge(held, team, limit.Amounts{limit.Requests: 1, limit.Images: 3})
		f.charge(held, team, limit.Amounts{limit.Requests: 1, limit.Images: 1}) // settled already
		if !next("two", 2) || next("one too many", 1) {
			f.Error("3 and 2 do not fill 5")
		}
	})
}

// In shadow mode the quotas refuse nothing, and count beyond the limit.
func TestTagQuotasInShadow(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "shadow: true", "tag_key: project", "tag_quotas: {tokens: {day: 10}}")
		f.ask(of("a", "alpha", team, 8))
		v := f.ask(of("b", "alpha", team, 8))
		if v.Held == nil || v.Reason != limit.ReasonQuota || v.Fault.Scope != limit.ScopeTag || v.Fault.Of != "alpha" || v.Limits[0].Held != 16 {
			f.Errorf("%+v", v)
		}
	})
}

// A request that can never fit, whatever was used, is refused as such.
func TestTagQuotasThatNeverFit(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "tag_key: project", "tag_quotas: {images: {day: 3}}")
		h := hold("a", team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
		if v := f.ask(h); v.Reason != limit.ReasonNever || v.Fault.Scope != limit.ScopeTag || v.Fault.Of != "" || v.Fault.Limit != 3 {
			f.Errorf("%+v", v)
		}
	})
}

// If a hold is lost, what is held is counted again, by value, too.
func TestTagHoldsAreCountedAgain(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	team := limittest.Team(f, "tag_key: project", "tag_quotas: {tokens: {day: 10, month: 12}}")
	f.ask(of("yesterday", "alpha", team, 2))
	f.clock.Move(10 * time.Minute)
	f.ask(of("kept", "alpha", team, 3))
	f.ask(of("lost", "alpha", team, 4))
	f.ask(of("lost too", "beta", team, 4))
	f.redis.client.Del(t.Context(), "sl1:{search}:hold:lost", "sl1:{search}:hold:lost too")
	f.clock.Move(55 * time.Minute) // the first expires
	for range 2 {
		f.sweep("search")
	}
	held := map[string]int64{}
	for key, value := range f.client.HGetAll(t.Context(), "sl1:{search}:use:20261121:tags").Val() {
		if strings.HasSuffix(key, "|held") {
			held[key+" "+value]++
		}
	}
	if diff := cmp.Diff(map[string]int64{"alpha||tokens|held 3": 1, "alpha||requests|held 1": 1}, held); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Many concurrent callers never pass the quota of a value, and reach it.
func TestTagQuotasHoldWithManyCallers(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "tag_key: project", "tag_quotas: {tokens: {day: 100}}")
		var calling sync.WaitGroup
		var passed [4]atomic.Int64
		for n := range 160 {
			calling.Go(func() {
				h := of(id(n), fmt.Sprint("v", n%4), team, 5)
				h.Lease = time.Hour
				if v, err := f.verdict(context.Background(), &h); err == nil && v.Held != nil {
					passed[n%4].Add(5)
				}
			})
		}
		calling.Wait()
		for i := range passed {
			if n := passed[i].Load(); n != 100 {
				f.Errorf("value %d: %d tokens, want 100", i, n)
			}
		}
	})
}

// A task is settled by another replica, which knows its tag by the task's claim; once, and also if Redis has lost the hold.
func TestTagsOfTasksAreSettledElsewhere(t *testing.T) {
	for name, lost := range map[string]bool{"held": false, "lost": true} {
		t.Run(name, func(t *testing.T) {
			f := newRedisForm(t, limittest.RealRedis(t))
			team := limittest.Team(t, "tag_key: project", "tag_quotas: {images: {day: 5}}")
			h := hold("task", team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
			h.Tag, h.Task = "alpha", true
			mine := f.ask(h).Held
			if lost {
				f.client.Del(t.Context(), "sl1:{search}:hold:task")
			}
			claimed := &limit.Held{ID: mine.ID, Team: "search", Model: mine.Model, Endpoint: mine.Endpoint, Tag: limit.Inner(string(mine.Tag)),
				Task: true, Amounts: mine.Amounts, Day: mine.Day, Month: mine.Month}
			elsewhere := New(f.client)
			elsewhere.Clock = f.clock.Micros
			for _, replica := range []*Store{elsewhere, f.redis, elsewhere} {
				if _, err := replica.Settle(t.Context(), &limit.Charge{Held: claimed, Team: team,
					Amounts: limit.Amounts{limit.Requests: 1, limit.Images: 3}}); err != nil {
					t.Fatal(err)
				}
			}
			f.sweep("search") // counts again what is held if a hold was missing
			f.sweep("search")
			if s := f.lookTags(team); len(s) != 1 || s[0].Used != 3 || !lost && s[0].Held != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}
