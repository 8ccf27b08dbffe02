package account_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/account"
	"sluice/policy/teams"
)

// of is an account that works; the changes make it another one.
func of(id string, weight int, changes ...func(*account.View)) account.View {
	v := account.View{Account: &teams.Account{ID: id, Weight: weight}}
	for _, change := range changes {
		change(&v)
	}
	return v
}

func models(patterns ...policy.Pattern) func(*account.View) {
	return func(v *account.View) { v.Account.Models = patterns }
}
func onlyFor(ids ...string) func(*account.View) {
	return func(v *account.View) { v.Account.Teams = ids }
}
func in(region string) func(*account.View) {
	return func(v *account.View) { v.Account.Region = region }
}
func busy(requests int) func(*account.View) { return func(v *account.View) { v.InFlight = requests } }
func probe(v *account.View)                 { v.Probe = true }

func cooling(seconds int) func(*account.View) {
	return func(v *account.View) { v.Wait = time.Duration(seconds) * time.Second }
}

func out(seconds int) func(*account.View) {
	return func(v *account.View) { v.Out, v.Wait = true, time.Duration(seconds)*time.Second }
}

func spent(id string, seconds int) func(*account.Want) {
	return func(w *account.Want) {
		if w.Spent == nil {
			w.Spent = map[string]time.Duration{}
		}
		w.Spent[id] = time.Duration(seconds) * time.Second
	}
}

func tried(ids ...string) func(*account.Want) { return func(w *account.Want) { w.Tried = ids } }

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		rule  string
		views []account.View
		want  account.Want
		tell  []func(*account.Want)
		got   string // the account, or the refusal and its wait
	}{
		{rule: "the only one", views: []account.View{of("main", 1)}, got: "main"},
		{rule: "the only one, however busy", views: []account.View{of("main", 1, busy(900))}, got: "main"},
		{rule: "the least in flight", views: []account.View{of("a", 1, busy(2)), of("b", 1, busy(1)), of("c", 1, busy(3))}, got: "b"},
		{rule: "by weight", views: []account.View{of("a", 1, busy(2)), of("b", 3, busy(5))}, got: "b"},
		{rule: "not beyond its weight", views: []account.View{of("a", 1, busy(2)), of("b", 3, busy(7))}, got: "a"},
		{rule: "none", got: "unserved 0s"},

		{rule: "it serves the model", views: []account.View{of("a", 1, models("gen*")), of("b", 1, models("llm-*"), busy(9))}, got: "b"},
		{rule: "none serves the model", views: []account.View{of("a", 1, models("gen*"))}, got: "unserved 0s"},
		{rule: "the team's own", views: []account.View{of("a", 1), of("b", 1, onlyFor("search"), busy(9))}, got: "b"},
		{rule: "not another team's", views: []account.View{of("a", 1, onlyFor("ads")), of("b", 1, busy(9))}, got: "b"},
		{rule: "several of the team's", views: []account.View{of("a", 1, onlyFor("ads", "search"), busy(1)), of("b", 1, onlyFor("search"))},
			got: "b"},
		{rule: "the team's own drains", views: []account.View{of("a", 1), of("b", 0, onlyFor("search"))}, got: "unserved 0s"},
		{rule: "all drain", views: []account.View{of("a", 0), of("b", 0)}, got: "unserved 0s"},
		{rule: "one drains", views: []account.View{of("a", 0), of("b", 1, busy(9))}, got: "b"},
		{
			rule: "the team's region", views: []account.View{of("a", 1), of("b", 1, in("eu")), of("c", 1, in("cn-north"), busy(9))},
			want: account.Want{Regions: []string{"cn-north"}}, got: "c",
		},
		{rule: "none in the region", views: []account.View{of("a", 1, in("eu"))}, want: account.Want{Regions: []string{"us"}},
			got: "unserved 0s"},

		{rule: "not the cooling one", views: []account.View{of("a", 1, cooling(3)), of("b", 1, busy(9))}, got: "b"},
		{rule: "all cooling: the shortest wait", views: []account.View{of("a", 1, cooling(5)), of("b", 1, cooling(3)), of("c", 1, cooling(9))},
			got: "busy 3s"},
		{rule: "only cooling ones serve", views: []account.View{of("a", 1, cooling(5)), of("b", 1, models("gen*"))}, got: "busy 5s"},
		{rule: "not the one without room", views: []account.View{of("a", 1), of("b", 1, busy(9))}, tell: []func(*account.Want){spent("a", 3)},
			got: "b"},
		{rule: "none has room", views: []account.View{of("a", 1), of("b", 1)}, tell: []func(*account.Want){spent("a", 3), spent("b", 2)},
			got: "busy 2s"},
		{
			rule: "cooling, and no room after it", views: []account.View{of("a", 1, cooling(2)), of("b", 1, cooling(4))},
			tell: []func(*account.Want){spent("a", 9)}, got: "busy 4s",
		},

		{rule: "not the one that is out", views: []account.View{of("a", 1, out(30)), of("b", 1, busy(9))}, got: "b"},
		{rule: "all out: until the first probe", views: []account.View{of("a", 1, out(30)), of("b", 1, out(20))}, got: "out 20s"},
		{rule: "out and cooling: worth the wait", views: []account.View{of("a", 1, out(2)), of("b", 1, cooling(9)), of("c", 1, out(1))},
			got: "busy 9s"},
		{rule: "out, and no room for long", views: []account.View{of("a", 1, out(40)), of("b", 1)},
			tell: []func(*account.Want){spent("b", 36_000)}, got: "busy 40s"},
		{rule: "out, and no room for a minute", views: []account.View{of("a", 1, out(40)), of("b", 1)},
			tell: []func(*account.Want){spent("b", 60)}, got: "busy 1m0s"},
		{rule: "cooling, and no room for long", views: []account.View{of("a", 1, cooling(70)), of("b", 1)},
			tell: []func(*account.Want){spent("b", 36_000)}, got: "busy 1m10s"},
		{rule: "out and cooling, both for long", views: []account.View{of("a", 1, out(50)), of("b", 1, cooling(90)), of("c", 1, out(45))},
			got: "busy 45s"},
		{rule: "all out that serve", views: []account.View{of("a", 1, out(30)), of("b", 1, models("gen*"))}, got: "out 30s"},

		{rule: "a probe first", views: []account.View{of("a", 1), of("b", 1, probe, busy(9))}, got: "b?"},
		{rule: "the least busy probe", views: []account.View{of("a", 1, probe, busy(3)), of("b", 1, probe, busy(2)), of("c", 9)}, got: "b?"},
		{rule: "a probe of the only one", views: []account.View{of("a", 1, out(0), probe)}, got: "a?"},
		{rule: "a probe needs room", views: []account.View{of("a", 1), of("b", 1, probe)}, tell: []func(*account.Want){spent("b", 2)}, got: "a"},
		{rule: "no probe of what drains", views: []account.View{of("a", 1), of("b", 0, probe)}, got: "a"},

		{rule: "each once", views: []account.View{of("a", 1), of("b", 1, busy(9))}, tell: []func(*account.Want){tried("a")}, got: "b"},
		{rule: "all tried", views: []account.View{of("a", 1), of("b", 1)}, tell: []func(*account.Want){tried("a", "b")}, got: "exhausted 0s"},
		{rule: "all that serve tried", views: []account.View{of("a", 1), of("b", 1, models("gen*"))}, tell: []func(*account.Want){tried("a")},
			got: "exhausted 0s"},
		{rule: "tried, and the others cooling", views: []account.View{of("a", 1), of("b", 1, cooling(7))},
			tell: []func(*account.Want){tried("a")}, got: "busy 7s"},
		{rule: "tried, and the others out", views: []account.View{of("a", 1, out(60)), of("b", 1, out(7))},
			tell: []func(*account.Want){tried("a")}, got: "out 7s"},
		{rule: "a probe once", views: []account.View{of("a", 1, probe), of("b", 1)}, tell: []func(*account.Want){tried("a")}, got: "b"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			c.want.Model, c.want.Team = "llm-max", "search"
			for _, tell := range c.tell {
				tell(&c.want)
			}
			got := account.Choose(c.views, c.want, 0)
			if text := shown(got); text != c.got {
				t.Errorf("chosen is %s, want %s", text, c.got)
			}
		})
	}
}

// Work that names no model is done by any account that serves the team.
func TestWorkWithoutAModel(t *testing.T) {
	views := []account.View{of("a", 1, models("gen*"), onlyFor("ads")), of("b", 0, models("gen*")), of("c", 1, models("llm-*"))}
	if got := shown(account.Choose(views, account.Want{Team: "search"}, 0)); got != "c" {
		t.Errorf("chosen is %s", got)
	}
}

func shown(c account.Choice) string {
	switch {
	case c.Account == nil:
		return fmt.Sprint(c.Refusal, " ", c.Wait)
	case c.Probe:
		return c.Account.ID + "?"
	}
	return c.Account.ID
}

// Of equal ones each is chosen as often as its weight says, and luck decides nothing else.
func TestTiesGoByWeight(t *testing.T) {
	views := []account.View{of("a", 1), of("busy", 9, busy(1)), of("b", 3), of("c", 6)}
	count, random := map[string]int{}, rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		count[account.Choose(views, account.Want{}, random.Float64()).Account.ID]++
	}
	for id, want := range map[string]int{"a": 1000, "b": 3000, "c": 6000, "busy": 0} {
		if got := count[id]; got < want*9/10 || got > want*11/10 {
			t.Errorf("%s is chosen %d times of 10,000, want about %d", id, got, want)
		}
	}
}

// Work that never ends comes to lie on the accounts as their weights say.
func TestLoadGoesByWeight(t *testing.T) {
	views := []account.View{of("a", 1), of("b", 3), of("c", 6)}
	for i := range 1000 {
		chosen := account.Choose(views, account.Want{}, float64(i%7)/7)
		for j := range views {
			if views[j].Account == chosen.Account {
				views[j].InFlight++
			}
		}
	}
	for i, want := range []int{100, 300, 600} {
		if got := views[i].InFlight; got < want-6 || got > want+6 {
			t.Errorf("%s has %d of 1,000, want about %d", views[i].Account.ID, got, want)
		}
	}
}

// What is chosen serves, may be asked and was not tried; and one is chosen if there is such a one.
func TestChoiceIsAllowed(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		var views []account.View
		want := account.Want{Model: "llm-max", Team: "search"}
		open := map[string]bool{}
		for i := range random.IntN(10) {
			v := of(fmt.Sprint("account-", i), random.IntN(3), busy(random.IntN(4)))
			v.Out, v.Probe = random.IntN(4) == 0, random.IntN(5) == 0
			if random.IntN(3) == 0 {
				v.Wait, v.Probe = time.Second, false
			}
			if random.IntN(3) == 0 {
				v.Account.Models = []policy.Pattern{"gen*"}
			}
			if random.IntN(6) == 0 {
				want.Tried = append(want.Tried, v.Account.ID)
			} else {
				open[v.Account.ID] = v.Account.Weight > 0 && v.Wait == 0 && v.Account.Models == nil
			}
			views = append(views, v)
		}
		any := false
		for _, may := range open {
			any = any || may
		}
		switch c := account.Choose(views, want, random.Float64()); {
		case c.Account == nil && any:
			t.Fatalf("none is chosen of %v for %+v", open, want)
		case c.Account != nil && !open[c.Account.ID]:
			t.Fatalf("%s is chosen of %v for %+v", c.Account.ID, open, want)
		}
	}
}

// A choice costs nothing that could be measured.
func BenchmarkChoose(b *testing.B) {
	for _, n := range []int{1, 3, 20} {
		b.Run(fmt.Sprint(n, " accounts"), func(b *testing.B) {
			var views []account.View
			for i := range n {
				views = append(views, of(fmt.Sprint(i), 1, busy(i%3)))
			}
			want := account.Want{Model: "llm-max", Team: "search"}
			b.ReportAllocs()
			for b.Loop() {
				account.Choose(views, want, 0.5)
			}
		})
	}
}
