package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"sluice/policy/event"
	"sluice/policy/event/outbox"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// withEvents gives a form an outbox, and returns it.
func (f *form) withEvents() event.Outbox {
	if f.memory != nil {
		f.memory.Events = event.NewMemory(event.DefaultBounds, f.clock.Now)
		return f.memory.Events
	}
	f.redis.Events = outbox.New(f.client, event.DefaultBounds)
	f.redis.Events.Clock = f.clock.Micros
	return f.redis.Events
}

// ending is the event of a hold's end.
func ending(h *limit.Held) *event.Draft {
	hook := event.Target{Address: event.Address{Owner: h.Team, Hook: "jobs"}}
	return &event.Draft{Type: event.TaskSucceeded, Team: h.Team, Data: fmt.Appendf(nil, `{"id":%q}`, h.ID), To: []event.Target{hook}}
}

// written are the owner's events: their data, one a line.
func written(t failing, of event.Outbox, owner string) (all string) {
	t.Helper()
	list, _, err := of.After(context.Background(), event.ID{Owner: owner}, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		all += string(e.Data) + "\n"
	}
	return all
}

// failing is what tests and histories have in common.
type failing interface {
	Helper()
	Fatal(args ...any)
}

// bothForms are those that have an outbox.
func bothForms(t *testing.T, test func(f *form)) {
	t.Run("memory", func(t *testing.T) { test(newMemoryForm(t)) })
	t.Run("redis", func(t *testing.T) { test(newRedisForm(t, limittest.RealRedis(t))) })
}

// An event is written by the settlement that settles its hold, and by no other.
func TestAnEventIsWrittenWithItsCharge(t *testing.T) {
	bothForms(t, func(f *form) {
		events, team := f.withEvents(), limittest.Team(f)
		h := hold("a", team, limit.Amounts{limit.Images: 4})
		h.Task = true
		held := f.held(h)
		f.admit(h)
		charge := func(held *limit.Held) bool {
			done, err := f.tryCharge(&limit.Charge{Held: held, Team: team, Amounts: limit.Amounts{limit.Images: 1}, Event: ending(held)})
			if err != nil {
				f.Fatal(err)
			}
			return done
		}
		for want := range 3 {
			if done := charge(held); done != (want == 0) {
				f.Error(want, done)
			}
			if got := written(f, events, "search"); got != `{"id":"a"}`+"\n" {
				f.Error(got)
			}
		}
		h.ID = "unheard"
		late := f.held(h)
		f.admit(h)
		f.clock.Move(2 * time.Hour)
		f.sweep("search")
		if got := written(f, events, "search"); strings.Count(got, "\n") != 1 {
			f.Error("a sweep wrote", got)
		}
		if !charge(late) || charge(late) {
			f.Error("late truth is charged once")
		}
		if got := written(f, events, "search"); strings.Count(got, "unheard") != 1 {
			f.Error(got)
		}
		h.ID = "unknown"
		if charge(f.held(h)) || strings.Contains(written(f, events, "search"), "unknown") {
			f.Error("what is not charged has no event")
		}
		if list, _, err := events.Due(context.Background(), event.Rooms{
			Hooks: map[event.Address]event.Room{{Owner: "search", Hook: "jobs"}: {Most: 9}}}, 9); err != nil || len(list) != 2 {
			f.Error(list, err)
		}
	})
}

// What is done before an event is told is written with the charge as the event would be: once, by the settlement that settles the hold.
func TestAWorkIsWrittenWithItsCharge(t *testing.T) {
	bothForms(t, func(f *form) {
		events, team := f.withEvents(), limittest.Team(f)
		h := hold("a", team, limit.Amounts{limit.Images: 4})
		h.Task = true
		held := f.held(h)
		f.admit(h)
		works := worksOf(events)
		draft := &event.Draft{Type: event.TaskSucceeded, Team: "search", Work: &event.Work{
			Task: "t1", Day: "2026/11/26", Ends: f.clock.Now().Add(24 * time.Hour), Pictures: []event.Picture{{URL: "https://a/1"}},
			Head: []byte(`{"id":"a"}`),
		}}
		charge := func(want bool) {
			done, err := f.tryCharge(&limit.Charge{Held: held, Team: team, Amounts: limit.Amounts{limit.Images: 1}, Event: draft})
			if err != nil || done != want {
				f.Fatal(done, err)
			}
		}
		charge(true)
		list, err := works.TakeWork(context.Background(), 9)
		if err != nil || len(list) != 1 || written(f, events, "search") != "" {
			f.Fatal(list, err)
		}
		list[0].Pictures[0].State = event.PictureStored
		if known, err := works.Worked(context.Background(), &list[0],
			list[0].Release(func(string, event.Type, string) []event.Target { return []event.Target{} })); !known || err != nil {
			f.Fatal(known, err)
		}
		charge(false)
		const want = `{"id":"a","results":[{"url":"https://a/1","stored":"/sluice/v1/tasks/t1/results/1"}]}` + "\n"
		if list, err := works.TakeWork(context.Background(), 9); err != nil || len(list) > 0 || written(f, events, "search") != want {
			f.Error(list, err, written(f, events, "search"))
		}
	})
}

// storing takes the works of an outbox.
type storing interface {
	TakeWork(ctx context.Context, most int) ([]event.Work, error)
	Worked(ctx context.Context, w *event.Work, p event.Progress) (bool, error)
}

func worksOf(of event.Outbox) storing {
	if m, ok := of.(*event.Memory); ok {
		return m.Works
	}
	return outbox.WorksOf(of.(*outbox.Outbox))
}

// If Redis cannot write the event, it makes no charge.
func TestNoChargeWithoutItsEvent(t *testing.T) {
	for _, key := range []string{"sl1:{search}:events", "sl1:{search}:due:jobs"} {
		f := newRedisForm(t, limittest.RealRedis(t))
		events, team := f.withEvents(), limittest.Team(f)
		h := hold("a", team, limit.Amounts{limit.Images: 4})
		f.admit(h)
		f.client.Set(t.Context(), key, "corrupt", 0)
		held := f.held(h)
		c := &limit.Charge{Held: held, Team: team, Amounts: h.Amounts, Event: ending(held)}
		if _, err := f.tryCharge(c); err == nil {
			t.Error("charged")
		}
		if s := f.look(team); s.Used[2*limit.Images] != 0 || s.Held[2*limit.Images] != 4 {
			t.Errorf("%+v", s)
		}
		f.client.Del(t.Context(), key)
		if done, err := f.tryCharge(c); err != nil || !done || written(f, events, "search") != `{"id":"a"}`+"\n" {
			t.Error(done, err)
		}
	}
}

// lossy is a client's hook that loses replies: Redis has executed the call.
type lossy struct{ lose func() bool }

var errLost = errors.New("the reply was lost")

func (l *lossy) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (l *lossy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if l.lose() {
			cmd.SetErr(errLost)
			return errLost
		}
		return err
	}
}

func (l *lossy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if l.lose() {
			for _, c := range cmds {
				c.SetErr(errLost)
			}
			return errLost
		}
		return err
	}
}

// Whatever is repeated, lost or late, each charge has its event, once, and each event its charge.
func TestEventsAndChargesAgree(t *testing.T) {
	client := limittest.RealRedis(t)
	losing := false
	var draw *rapid.T
	client.AddHook(&lossy{func() bool { return losing && rapid.IntRange(0, 3).Draw(draw, "lost") == 0 }})
	rapid.Check(t, func(rt *rapid.T) {
		losing, draw = false, rt
		if err := client.FlushDB(context.Background()).Err(); err != nil {
			rt.Fatal(err)
		}
		f := newRedisForm(t, client)
		events, team := f.withEvents(), &teams.Team{ID: "search"}
		if err := f.redis.List(context.Background(), "search"); err != nil {
			rt.Fatal(err)
		}
		var open []*limit.Charge
		images, ended, none := int64(0), 0, 0
		for n := range rapid.IntRange(1, 12).Draw(rt, "holds") {
			h := hold(id(n), team, limit.Amounts{limit.Requests: 1, limit.Images: 3})
			h.Task, h.Lease = rapid.Bool().Draw(rt, "task"), time.Duration(rapid.IntRange(1, 100).Draw(rt, "lease"))*time.Minute
			f.admit(h)
			c := &limit.Charge{Held: f.held(h), Team: team, Amounts: limit.Amounts{limit.Requests: 1,
				limit.Images: rapid.Int64Range(0, 5).Draw(rt, "images")}}
			if images += c.Amounts[limit.Images]; rapid.IntRange(0, 3).Draw(rt, "event") > 0 {
				c.Event = ending(c.Held)
				ended++
			} else {
				none++
			}
			open = append(open, c)
		}
		losing = true
		for len(open) > 0 {
			switch rapid.IntRange(0, 5).Draw(rt, "do") {
			case 0:
				f.clock.Move(time.Minute * 7)
			case 1:
				_, _ = f.redis.Sweep(context.Background(), "search", 100)
			default:
				some := rapid.SliceOfN(rapid.SampledFrom(open), 1, 4).Draw(rt, "charges") // some twice
				post := rapid.Bool().Draw(rt, "post")
				came := f.redis.SettleAll(context.Background(), some, post)
				for i, c := range some {
					at := -1
					for k := range open {
						if open[k] == c {
							at = k
						}
					}
					if came[i].Err == nil && at >= 0 && rapid.Bool().Draw(rt, "ended") { // others are sent again
						open = append(open[:at], open[at+1:]...)
					}
				}
			}
		}
		losing = false
		got := written(rt, events, "search")
		for n := range ended + none {
			if c := strings.Count(got, fmt.Sprintf("{%q:%q}\n", "id", id(n))); c > 1 {
				rt.Fatalf("%d events of %s", c, id(n))
			}
		}
		if n := strings.Count(got, "\n"); n != ended {
			rt.Fatalf("%d events of %d charges", n, ended)
		}
		if s := f.look(team); s.Used[2*limit.Images] != images {
			rt.Fatalf("%d images were charged of %d", s.Used[2*limit.Images], images)
		}
	})
}
