package outbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/event"
	"sluice/policy/limit/limittest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	limittest.StopRedis()
	os.Exit(code)
}

// form is one of the two forms of the outbox.
type form struct {
	*testing.T
	event.Outbox
	clock   *limittest.Clock
	client  redis.UniversalClient // nil: in memory
	dropped func() int64
	lost    int // of all calls of due
	once    interface {
		Once(ctx context.Context, n event.Name, d *event.Draft) (bool, error)
	}
	streams interface {
		Last(ctx context.Context, owner string) (event.ID, error)
		News(ctx context.Context, after []event.ID, most int) ([][]event.Event, error)
		Follow(ctx context.Context, owners []string, known int64) (event.Followed, error)
	}
	works works
}

// bounds are those of the tests.
var bounds = event.Bounds{Keep: time.Hour, Most: 200, InFlight: 1000}

// forms runs a test with both.
func forms(t *testing.T, test func(f *form)) {
	formsOf(t, bounds, test)
}

func formsOf(t *testing.T, bounds event.Bounds, test func(f *form)) {
	t.Run("memory", func(t *testing.T) {
		clock := limittest.NewClock()
		m := event.NewMemory(bounds, clock.Now)
		test(&form{t, m, clock, nil, m.Dropped, 0, m, m, m.Works})
	})
	t.Run("redis", func(t *testing.T) {
		clock, client := limittest.NewClock(), limittest.RealRedis(t)
		if err := client.SAdd(t.Context(), teamsKey, "search", "shop").Err(); err != nil {
			t.Fatal(err)
		}
		o := New(client, bounds)
		o.Clock = clock.Micros
		test(&form{t, o, clock, client, o.Dropped, 0, o, o, WorksOf(o)})
	})
}

var (
	jobs  = event.Address{Owner: "search", Hook: "jobs"}
	other = event.Address{Owner: "shop", Hook: "jobs"}
	ops   = event.Address{Owner: event.Operators, Hook: "jobs"}
)

func (f *form) write(team, data string, to ...event.Address) event.ID {
	f.Helper()
	d := &event.Draft{Type: event.TaskSucceeded, Team: team, Data: []byte(data)}
	for _, a := range to {
		d.To = append(d.To, event.Target{Address: a})
	}
	return f.draft(d)
}

func (f *form) draft(d *event.Draft) event.ID {
	f.Helper()
	id, err := f.Append(f.Context(), d)
	if err != nil {
		f.Fatal(err)
	}
	return id
}

// due are the deliveries taken, as "hook's owner: data" in order.
func (f *form) due(most int, hooks ...event.Address) (list []event.Delivery) {
	f.Helper()
	list, lost, err := f.Due(f.Context(), roomsOf(most, hooks...), 1000)
	if err != nil {
		f.Fatal(err)
	}
	for _, n := range lost {
		f.lost += n
	}
	return list
}

// roomsOf is the same room for each hook.
func roomsOf(room int, hooks ...event.Address) event.Rooms {
	rooms := event.Rooms{Hooks: map[event.Address]event.Room{}}
	for _, a := range hooks {
		rooms.Hooks[a] = event.Room{Most: room}
	}
	return rooms
}

// named says which deliveries those are.
func named(list []event.Delivery) string {
	var all []string
	for _, d := range list {
		all = append(all, d.To.Owner+"/"+d.To.Hook+d.Path+" "+string(d.Event.Data))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (f *form) taken(want string, list []event.Delivery) {
	f.Helper()
	if got := named(list); got != want {
		f.Fatalf("took %q, want %q", got, want)
	}
}

func (f *form) tried(d event.Delivery, state event.State, after time.Duration) event.Delivery {
	f.Helper()
	d.State, d.Tries, d.Code = state, d.Tries+1, 503
	if err := f.Tried(f.Context(), &d, after); err != nil {
		f.Fatal(err)
	}
	return d
}

// Events of an owner are read in the order in which they were written, from any place on.
func TestEventsAreReadInOrder(t *testing.T) {
	forms(t, func(f *form) {
		var ids []event.ID
		for n := range 7 {
			ids = append(ids, f.write("search", fmt.Sprintf(`{"n":%d}`, n)))
			f.write("shop", `{}`)
			if n%2 == 1 {
				f.clock.Move(time.Second)
			}
		}
		for from := range 8 {
			after := event.ID{Owner: "search"}
			if from > 0 {
				after = ids[from-1]
			}
			list, gone, err := f.After(f.Context(), after, 3)
			if err != nil || gone || len(list) != min(3, 7-from) {
				f.Fatal(from, list, gone, err)
			}
			for i, e := range list {
				if e.ID != ids[from+i] || e.Team != "search" || e.Type != event.TaskSucceeded || !e.Time.Equal(e.ID.Time()) ||
					string(e.Data) != fmt.Sprintf(`{"n":%d}`, from+i) {
					f.Errorf("%d: %+v", from, e)
				}
			}
		}
		if list, gone, err := f.After(f.Context(), event.ID{Owner: "none"}, 3); len(list) > 0 || gone || err != nil {
			f.Error(list, gone, err)
		}
		later := ids[6]
		later.Millis += 1000
		if _, gone, _ := f.After(f.Context(), later, 3); !gone {
			f.Error("an id of another memory is not known")
		}
	})
}

// An event lives for as long as the bound says; then a reader learns that some are missing, and it is not delivered.
func TestAnEventsLifeEnds(t *testing.T) {
	forms(t, func(f *form) {
		first := f.write("search", "1", jobs)
		second := f.write("search", "2", jobs)
		f.clock.Move(30 * time.Minute)
		third := f.write("search", "3", jobs)
		f.clock.Move(29 * time.Minute)
		if list, gone, _ := f.After(f.Context(), first, 9); len(list) != 2 || gone {
			f.Error(list, gone)
		}
		f.clock.Move(2 * time.Minute)
		if list, gone, _ := f.After(f.Context(), first, 9); len(list) != 1 || list[0].ID != third || !gone {
			f.Error(list, gone)
		}
		if list, gone, _ := f.After(f.Context(), event.ID{Owner: "search"}, 9); len(list) != 1 || gone {
			f.Error(list, gone)
		}
		if list, gone, _ := f.After(f.Context(), third, 9); len(list) != 0 || gone {
			f.Error(list, gone)
		}
		f.taken("search/jobs 3", f.due(9, jobs))
		if err := f.Again(f.Context(), second); err != event.ErrGone {
			f.Error(err)
		}
		if list, _ := f.Deliveries(f.Context(), "search", event.ID{}, 9); len(list) != 1 || list[0].Event.ID != third {
			f.Error(named(list))
		}
		if n := f.dropped(); n != 0 || f.lost != 2 {
			f.Error(n, "were dropped,", f.lost, "deliveries lost")
		}
	})
}

// Of too many events the oldest go, and are counted.
func TestTooManyEventsAreDropped(t *testing.T) {
	forms(t, func(f *form) {
		first := f.write("search", "0", jobs)
		const wrote = 1000
		for n := 1; n < wrote; n++ {
			f.write("search", fmt.Sprint(n))
		}
		list, gone, err := f.After(f.Context(), first, wrote)
		if err != nil || !gone || len(list) < bounds.Most || len(list) > bounds.Most+100 ||
			string(list[len(list)-1].Data) != fmt.Sprint(wrote-1) {
			f.Error(len(list), gone, err)
		}
		if n := f.dropped(); n != int64(wrote-len(list)) {
			f.Errorf("%d were dropped, %d are left", n, len(list))
		}
		if f.taken("", f.due(9, jobs)); f.lost != 1 {
			f.Error(f.lost, "deliveries lost")
		}
	})
}

// Whatever is dead before it holds up no delivery that lives, and each is counted once.
func TestDeadDeliveriesAreCounted(t *testing.T) {
	forms(t, func(f *form) {
		for range 150 {
			f.write("search", "1", jobs, ops)
		}
		f.clock.Move(bounds.Keep + time.Second)
		f.write("search", "2", jobs, ops)
		f.taken("search/jobs 2", f.due(1, jobs))
		if f.lost != 150 {
			f.Error(f.lost, "deliveries lost")
		}
		f.taken("@operators/jobs 2", f.due(1, jobs, ops))
		f.taken("", f.due(1, jobs, ops))
		if f.lost != 300 {
			f.Error(f.lost, "deliveries lost")
		}
	})
}

// What waits for a hook that takes nothing is bounded as the events are.
func TestWhatWaitsIsBounded(t *testing.T) {
	forms(t, func(f *form) {
		for range 1000 {
			f.write("search", "1", jobs)
		}
		if f.client != nil {
			if n := f.client.ZCard(f.Context(), keyOf("search", "due:jobs")).Val(); n > int64(2*bounds.Most) {
				f.Errorf("%d deliveries wait, %d events are kept", n, bounds.Most)
			}
		}
		if n := len(f.due(1000, jobs)); n < bounds.Most || n > bounds.Most+100 {
			f.Errorf("%d deliveries are due", n)
		}
	})
}

// An event that was just written is delivered however many older ones wait for a later try. What is dropped with its event is counted.
func TestTheNewestIsDeliveredWhereOthersWait(t *testing.T) {
	few := event.Bounds{Keep: time.Hour, Most: 5, InFlight: 1000}
	formsOf(t, few, func(f *form) {
		const wrote = 40
		for n := range wrote {
			d := &event.Draft{Type: event.TaskSucceeded, Team: "search", Data: fmt.Append(nil, n),
				To: []event.Target{{Address: jobs}, {Address: jobs, Path: "/shots 1"}, {Address: ops}}}
			f.draft(d)
			list := f.due(9, jobs, ops)
			f.taken(fmt.Sprintf("@operators/jobs %d, search/jobs %d, search/jobs/shots 1 %d", n, n, n), list)
			for _, d := range list {
				f.tried(d, event.Waiting, 30*time.Minute)
			}
			f.clock.Move(time.Second)
		}
		f.write("search", "unheard")
		if lost := 3 * (wrote - few.Most); f.lost != lost {
			f.Errorf("%d deliveries lost, want %d", f.lost, lost)
		}
		if f.client != nil {
			if n := f.client.ZCard(f.Context(), keyOf("search", "due:jobs")).Val(); n != int64(2*(few.Most-1)) {
				f.Errorf("%d deliveries wait, of %d events", n, few.Most-1)
			}
		}
		f.clock.Move(30 * time.Minute)
		if list := f.due(99, jobs, ops); len(list) != 3*(few.Most-1) {
			f.Errorf("took %q", named(list))
		}
		if lost := 3 * (wrote - few.Most + 1); f.lost != lost {
			f.Errorf("%d deliveries lost at the end, want %d", f.lost, lost)
		}
	})
}

// A delivery that is under way when its event is dropped is lost only if it fails, or if its outcome is never recorded; it is counted once.
func TestADeliveryUnderWayIsNotLostWithItsEvent(t *testing.T) {
	few := event.Bounds{Keep: time.Hour, Most: 5, InFlight: 1000}
	for about, tt := range map[string]struct {
		tries int // before the one that is under way
		ends  event.State
		lost  int
	}{
		"it succeeds":          {0, event.Delivered, 0},
		"a later try succeeds": {2, event.Delivered, 0},
		"it is given up":       {0, event.GivenUp, 0}, // which its caller counts
		"it fails":             {0, event.Waiting, 1},
		"a later try fails":    {2, event.Waiting, 1},
		"nobody says":          {1, "", 1},
	} {
		t.Run(about, func(t *testing.T) {
			formsOf(t, few, func(f *form) {
				f.write("search", "1", jobs)
				taken := f.due(9, jobs)
				for range tt.tries {
					f.tried(taken[0], event.Waiting, time.Minute)
					f.clock.Move(time.Minute)
					taken = f.due(9, jobs)
				}
				f.clock.Move(time.Second)
				for range few.Most {
					f.write("search", "2")
				}
				deliver := func(lost int, about string) { // what is lost is told with the next delivery
					f.write("search", "3", jobs)
					list := f.due(9, jobs)
					f.taken("search/jobs 3", list)
					if f.tried(list[0], event.Delivered, 0); f.lost != lost {
						f.Errorf("%d lost %s, want %d", f.lost, about, lost)
					}
				}
				deliver(0, "while it is under way")
				if tt.ends != "" {
					f.tried(taken[0], tt.ends, 30*time.Minute)
				} else {
					f.clock.Move(event.Lease + event.Seat)
				}
				deliver(tt.lost, "at its end")
				if f.client != nil {
					if n := f.client.ZCard(f.Context(), keyOf("search", "due:jobs")).Val(); n != 0 {
						f.Errorf("%d deliveries wait", n)
					}
				}
				f.clock.Move(31 * time.Minute)
				deliver(tt.lost, "later")
			})
		})
	}
}

// What is known of tries goes with its event: if there are too many, when its life ends, and when the outcome comes later than that.
func TestRowsOfTriesGoWithTheirEvents(t *testing.T) {
	forms(t, func(f *form) {
		if f.client == nil {
			return // in memory they are a part of the event
		}
		rows := func() (n int64) {
			for _, key := range f.client.Keys(f.Context(), keyOf("search", "tried:*")).Val() {
				n += f.client.HLen(f.Context(), key).Val()
			}
			return n
		}
		write := func(n int) (last event.Delivery) {
			for range n {
				f.write("search", "1", jobs, ops)
				for _, d := range f.due(2, jobs, ops) {
					last = f.tried(d, event.Delivered, 0)
				}
			}
			return last
		}
		write(1000)
		if n := rows(); n != int64(2*bounds.Most) {
			f.Errorf("%d rows of tries, %d events are kept with two each", n, bounds.Most)
		}
		f.write("search", "slow", jobs)
		slow := f.due(1, jobs)[0]
		write(bounds.Most)
		f.tried(slow, event.Waiting, time.Second)
		if n := rows(); n != int64(2*bounds.Most) {
			f.Errorf("%d rows after a try of an event that is kept no more", n)
		}
		f.clock.Move(bounds.Keep + time.Second)
		write(3) // each drops a hundred
		if n := rows(); n != 6 {
			f.Errorf("%d rows of three events and of those whose life has ended", n)
		}
	})
}

// A hook's room is for the events of all owners together, and a call takes no more than its caller has room for.
func TestRoomIsForAllOwners(t *testing.T) {
	forms(t, func(f *form) {
		const owners, each = 30, 3
		if f.client != nil {
			for n := range owners {
				f.client.SAdd(f.Context(), teamsKey, fmt.Sprint("team", n))
			}
		}
		for n := range owners {
			for range each {
				f.write(fmt.Sprint("team", n), "1", ops, event.Address{Owner: fmt.Sprint("team", n), Hook: "own"})
			}
		}
		seen := 0
		for calls := 0; seen < owners*each; calls++ {
			list := f.due(4, ops)
			if len(list) == 0 || len(list) > 4 || calls > owners*each {
				f.Fatal(len(list), "deliveries to a hook with room for 4, after", seen)
			}
			seen += len(list)
		}
		var own []event.Address
		for n := range owners {
			own = append(own, event.Address{Owner: fmt.Sprint("team", n), Hook: "own"})
		}
		rooms := roomsOf(2, own...)
		for _, want := range []int{10, 50} {
			if list, _, err := f.Due(f.Context(), rooms, want); err != nil || len(list) != want {
				f.Errorf("%d deliveries, want %d: %v", len(list), want, err)
			}
		}
	})
}

// A look for one hook leaves what is long due to others where it is: they are found at once, without a walk.
func TestALookLeavesOtherHooks(t *testing.T) {
	forms(t, func(f *form) {
		f.taken("", f.due(1, jobs, other, ops)) // the walk
		f.write("search", "1", jobs, ops)
		f.write("shop", "2", other, ops)
		f.taken("", f.due(1, event.Address{Owner: "search", Hook: "none"}))
		f.clock.Move(bounds.Keep / 2)
		f.taken("search/jobs 1", f.due(1, jobs))
		f.taken("shop/jobs 2", f.due(1, other))
		f.taken("@operators/jobs 1, @operators/jobs 2", f.due(2, ops))
	})
}

// A delivery is one caller's until its lease ends, and is due again when the caller says, until it has ended.
func TestADeliveryIsOneCallersAtATime(t *testing.T) {
	forms(t, func(f *form) {
		f.write("search", "1", jobs, ops)
		f.write("shop", "2", other, ops)
		f.write(event.Operators, "3", ops)
		f.taken("", f.due(9))
		f.taken("", f.due(9, event.Address{Owner: "search", Hook: "none"}))
		list := f.due(9, jobs)
		f.taken("search/jobs 1", list)
		f.taken("", f.due(9, jobs))
		f.clock.Move(event.Lease - time.Second)
		f.taken("", f.due(9, jobs))
		f.clock.Move(2 * time.Second)
		list = f.due(9, jobs)
		f.taken("search/jobs 1", list)
		f.tried(list[0], event.Waiting, 5*time.Second)
		f.clock.Move(4 * time.Second)
		f.taken("", f.due(9, jobs))
		f.clock.Move(time.Second)
		again := f.due(9, jobs)
		f.taken("search/jobs 1", again)
		if d := again[0]; d.Tries != 1 || d.Code != 503 || !d.Last.Equal(f.clock.Now().Add(-5*time.Second)) || d.State != event.Waiting {
			f.Errorf("%+v", d)
		}
		f.tried(again[0], event.Delivered, 0)
		f.tried(list[0], event.Waiting, time.Second) // late
		f.clock.Move(time.Minute)
		f.taken("", f.due(9, jobs))
		f.taken("@operators/jobs 1, @operators/jobs 2, @operators/jobs 3, shop/jobs 2", f.due(9, jobs, other, ops))
	})
}

// A call takes so many deliveries of each hook, and the next call the next ones.
func TestACallTakesSoMany(t *testing.T) {
	forms(t, func(f *form) {
		for n := range 5 {
			f.write("search", fmt.Sprint(n), jobs, ops)
			f.clock.Move(time.Millisecond)
		}
		f.taken("search/jobs 0, search/jobs 1", f.due(2, jobs))
		f.taken("@operators/jobs 0, @operators/jobs 1, search/jobs 2, search/jobs 3", f.due(2, jobs, ops))
		f.taken("@operators/jobs 2, @operators/jobs 3, search/jobs 4", f.due(2, jobs, ops))
		f.taken("@operators/jobs 4", f.due(2, jobs, ops))
	})
}

// One hook may have several targets of an event, which are delivered separately.
func TestTargetsAreDeliveredSeparately(t *testing.T) {
	forms(t, func(f *form) {
		id := f.draft(&event.Draft{Type: event.TaskFailed, Team: "search", Data: []byte("1"), To: []event.Target{
			{Address: jobs}, {Address: jobs, Path: "/shots/42?x=1 2"}, {Address: ops},
		}})
		list := f.due(9, jobs, ops)
		f.taken("@operators/jobs 1, search/jobs 1, search/jobs/shots/42?x=1 2 1", list)
		for _, d := range list {
			if d.Event.ID != id || d.Event.Type != event.TaskFailed {
				f.Errorf("%+v", d)
			}
			switch {
			case d.Path != "":
				f.tried(d, event.GivenUp, 0)
			case d.To == jobs:
				f.tried(d, event.Delivered, 0)
			default:
				f.tried(d, event.Waiting, time.Hour/2)
			}
		}
		states := func(owner string) (all string) {
			list, err := f.Deliveries(f.Context(), owner, event.ID{}, 9)
			if err != nil {
				f.Fatal(err)
			}
			for _, d := range list {
				all += fmt.Sprintf("%s/%s%s %s %d; ", d.To.Owner, d.To.Hook, d.Path, d.State, d.Tries)
			}
			return all
		}
		if got := states("search"); got != "search/jobs delivered 1; search/jobs/shots/42?x=1 2 given_up 1; @operators/jobs waiting 1; " {
			f.Error(got)
		}
		if got := states(event.Operators); got != "@operators/jobs waiting 1; " {
			f.Error(got)
		}
		if got := states("shop"); got != "" {
			f.Error(got)
		}
		if err := f.Again(f.Context(), id); err != nil {
			f.Fatal(err)
		}
		f.taken("@operators/jobs 1, search/jobs 1, search/jobs/shots/42?x=1 2 1", f.due(9, jobs, ops))
		if got := states("search"); got != "search/jobs waiting 0; search/jobs/shots/42?x=1 2 waiting 0; @operators/jobs waiting 0; " {
			f.Error(got)
		}
		unknown := id
		unknown.Number++
		if err := f.Again(f.Context(), unknown); err != event.ErrGone {
			f.Error(err)
		}
		if err := f.Again(f.Context(), f.write("search", `{}`)); err != event.ErrNoHooks {
			f.Error(err)
		}
	})
}

// All callers know which hooks have ended, and when.
func TestHooksThatHaveEndedAreKnown(t *testing.T) {
	forms(t, func(f *form) {
		for _, hook := range []event.Address{jobs, ops} {
			if err := f.End(f.Context(), hook, "a mark"); err != nil {
				f.Fatal(err)
			}
		}
		if err := f.End(f.Context(), jobs, ""); err != nil {
			f.Fatal(err)
		}
		want := event.HookEnd{Mark: "a mark", At: f.clock.Now().Truncate(time.Millisecond)}
		if ended, err := f.Ended(f.Context()); err != nil || len(ended) != 1 || ended[ops].Mark != want.Mark || !ended[ops].At.Equal(want.At) {
			f.Error(ended, err, want)
		}
	})
}

// A report shows which hooks have ended, before those that are behind, and no time at which their deliveries would be tried.
func TestAReportShowsWhichHooksHaveEnded(t *testing.T) {
	forms(t, func(f *form) {
		f.write("search", "1", jobs, ops)
		f.clock.Move(time.Minute)
		if err := f.End(f.Context(), ops, "a mark"); err != nil {
			f.Fatal(err)
		}
		ended := f.clock.Now()
		f.clock.Move(time.Minute)
		r, err := event.Look(f.Context(), f.Outbox, []event.Address{jobs, other, ops}, event.Query{Owner: "search"})
		if err != nil || len(r.Hooks) != 3 || r.Hooks[0].Owner != event.Operators || r.Hooks[0].Ended == nil ||
			!r.Hooks[0].Ended.Equal(ended.Truncate(time.Millisecond)) || r.Hooks[0].Oldest == nil || r.Hooks[1].Owner != "search" ||
			r.Hooks[1].Ended != nil || r.Hooks[2].Ended != nil {
			f.Error(r.Hooks, err)
		}
		for _, d := range r.Data {
			if (d.Next == nil) != (d.Owner == event.Operators) || d.State != event.Waiting {
				f.Errorf("%+v", d)
			}
		}
	})
}

// A replica of the previous version notes no time; the hook has ended all the same.
func TestAHookThatEndedAtAnUnknownTimeHasEnded(t *testing.T) {
	client := limittest.RealRedis(t)
	if err := client.HSet(t.Context(), endedKey, "search jobs", "a mark").Err(); err != nil {
		t.Fatal(err)
	}
	if ended, err := New(client, bounds).Ended(t.Context()); err != nil || len(ended) != 1 || ended[jobs] != (event.HookEnd{Mark: "a mark"}) {
		t.Error(ended, err)
	}
}

// The newest deliveries come first.
func TestTheNewestDeliveriesAreListed(t *testing.T) {
	forms(t, func(f *form) {
		wrote := map[event.ID]string{}
		write := func(team, data string, to ...event.Address) event.ID {
			id := f.write(team, data, to...)
			wrote[id] = data
			return id
		}
		for n := range 5 {
			write("search", fmt.Sprint(n), jobs)
			write("shop", fmt.Sprint(n), other, ops)
			f.clock.Move(time.Millisecond)
		}
		of := write("search", "8", jobs, ops)
		f.clock.Move(time.Millisecond)
		write(event.Operators, "9", ops)
		for about, want := range map[event.Query]string{
			{Owner: "search"}: "8,8,4,", {Owner: event.Operators}: "9,8,4,", {Owner: "search", Event: "one"}: "8,8,",
			{Owner: "shop", Event: "one"}: "",
		} {
			only := event.ID{}
			if about.Event != "" {
				only = of
			}
			list, err := f.Deliveries(f.Context(), about.Owner, only, 3)
			got := ""
			for _, d := range list {
				got += wrote[d.Event.ID] + ","
				if d.Event.Data != nil {
					f.Error("a list needs no data")
				}
			}
			if err != nil || got != want {
				f.Errorf("%+v: %q, want %q: %v", about, got, want, err)
			}
		}
	})
}

// Whatever callers do at once, each delivery ends, and no two have it at a time.
func TestCallersShareDeliveries(t *testing.T) {
	forms(t, func(f *form) {
		const wrote = 120
		var mu sync.Mutex
		held, ended := map[string]bool{}, map[string]bool{}
		var callers sync.WaitGroup
		for n := range 4 {
			callers.Go(func() {
				for i := range wrote / 4 {
					f.write("search", fmt.Sprint(n*1000+i), jobs, ops)
				}
			})
			callers.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(n)))
				for range 100_000 {
					list, _, err := f.Due(context.Background(), roomsOf(1+random.IntN(4), jobs, ops), 1+random.IntN(8))
					if err != nil {
						f.Error(err)
						return
					}
					for _, d := range list {
						name := named([]event.Delivery{d})
						mu.Lock()
						if held[name] || ended[name] {
							f.Errorf("%s is two callers'", name)
						}
						held[name] = true
						mu.Unlock()
						state := event.Waiting
						mu.Lock()
						if held[name] = false; random.IntN(3) > 0 {
							state, ended[name] = event.Delivered, true
						}
						mu.Unlock()
						f.tried(d, state, 0)
					}
					mu.Lock()
					over := len(ended) == 2*wrote
					mu.Unlock()
					if over {
						return
					}
					f.clock.Move(time.Microsecond)
				}
			})
		}
		callers.Wait()
		if len(ended) != 2*wrote {
			f.Errorf("%d deliveries have ended, of %d", len(ended), 2*wrote)
		}
	})
}

// A process that wrote events and was killed before it noted them, or lost its leases, loses no delivery: another finds them.
func TestAnotherProcessDelivers(t *testing.T) {
	client, clock := limittest.RealRedis(t), limittest.NewClock()
	process := func() *Outbox {
		o := New(client, bounds)
		o.Clock = clock.Micros
		return o
	}
	if err := client.SAdd(t.Context(), teamsKey, "search", "shop").Err(); err != nil {
		t.Fatal(err)
	}
	f := &form{T: t, Outbox: process(), clock: clock, client: client}
	first := f.write("search", "1", jobs, ops)
	f.write(event.Operators, "2", ops)
	f.taken("@operators/jobs 1, @operators/jobs 2, search/jobs 1", f.due(9, jobs, ops))
	f.write("search", "3", jobs, ops)
	client.Del(t.Context(), indexKey, walkKey) // as if it had been killed before

	f.Outbox = process()
	f.taken("@operators/jobs 3, search/jobs 3", f.due(9, jobs, other, ops))
	clock.Move(event.Lease + 2*time.Second)
	again := f.due(9, jobs, other, ops)
	f.taken("@operators/jobs 1, @operators/jobs 2, @operators/jobs 3, search/jobs 1, search/jobs 3", again)
	for _, d := range again {
		if d.To == jobs && string(d.Event.Data) == "1" && d.Event.ID != first {
			t.Error("another id", d.Event.ID)
		}
		f.tried(d, event.Delivered, 0)
	}
	clock.Move(time.Minute)
	f.taken("", f.due(9, jobs, other, ops))
	if n := client.ZCard(t.Context(), indexKey).Val(); n != 0 {
		t.Errorf("%d pairs are left in the index", n)
	}
}

// A pair for which nothing waits is taken out of the index by the walk; one for which some do stays, whoever asks.
func TestTheWalkTidiesTheIndex(t *testing.T) {
	client, clock := limittest.RealRedis(t), limittest.NewClock()
	o := New(client, bounds)
	o.Clock = clock.Micros
	f := &form{T: t, Outbox: o, clock: clock, client: client}
	f.write("search", "1", jobs)
	f.write("shop", "2", other)
	f.taken("", f.due(1, ops)) // the pairs get a time
	client.Del(t.Context(), walkKey, keyOf("shop", "due:jobs"))
	clock.Move(overdue + time.Second)
	again := New(client, bounds)
	again.Clock, f.Outbox = clock.Micros, again
	f.taken("", f.due(1, ops))
	if got := client.ZRange(t.Context(), indexKey, 0, -1).Val(); len(got) != 1 || got[0] != "search jobs" {
		t.Errorf("the index has %q", got)
	}
	f.taken("search/jobs 1", f.due(1, jobs))
}

// A name of an owner is new once, or again with a larger limit. A draft is written with it; without one nothing is.
// What waits longest for a hook is known, whosever event it is, and whenever its next try comes.
func TestTheOldestThatWaitsIsKnown(t *testing.T) {
	forms(t, func(f *form) {
		ops := event.Address{Owner: event.Operators, Hook: "ops"}
		age := func(want map[event.Address]time.Time) {
			f.Helper()
			got, err := f.Oldest(f.Context(), []event.Address{jobs, ops, {Owner: "shop", Hook: "none"}})
			if err != nil || len(got) != len(want) {
				f.Fatal(got, err)
			}
			for a, at := range want {
				if !got[a].Equal(at) {
					f.Errorf("%v since %v, want %v", a, got[a], at)
				}
			}
		}
		write := func(owner string, to ...event.Address) time.Time {
			f.Helper()
			f.clock.Move(time.Minute)
			d := &event.Draft{Type: event.TaskFailed, Team: owner, Data: []byte("{}")}
			for _, a := range to {
				d.To = append(d.To, event.Target{Address: a})
			}
			id, err := f.Append(f.Context(), d)
			if err != nil {
				f.Fatal(err)
			}
			return id.Time()
		}
		age(nil)
		first := write("search", jobs)
		house := write("@house", ops)
		second := write("search", jobs, ops)
		age(map[event.Address]time.Time{jobs: first, ops: house})
		list, _, err := f.Due(f.Context(), roomsOf(9, jobs, ops), 9)
		if err != nil || len(list) != 4 {
			f.Fatal(list, err)
		}
		for i := range list {
			d, wait := &list[i], 40*time.Minute
			if d.Tries = 1; d.Event.Time.Equal(first) { // it is tried again last
			} else if d.State = event.Delivered; d.Event.Time.Equal(second) && d.To == jobs {
				d.State, wait = event.Waiting, time.Minute
			}
			if err := f.Tried(f.Context(), d, wait); err != nil {
				f.Fatal(err)
			}
		}
		age(map[event.Address]time.Time{jobs: first})
		for range 20 {
			f.clock.Move(time.Minute)
			age(map[event.Address]time.Time{jobs: first})
		}
	})
}

func TestANameIsNewOnce(t *testing.T) {
	forms(t, func(f *form) {
		draft := &event.Draft{Type: event.QuotaReached, Team: "search", Data: []byte("{}"), To: []event.Target{{Address: jobs}}}
		for i, tt := range []struct {
			event.Name
			draft   *event.Draft
			want    bool
			written int
		}{
			{event.Name{Owner: "search", Name: "a", Limit: 10}, draft, true, 1},
			{event.Name{Owner: "search", Name: "a", Limit: 10}, draft, false, 1},
			{event.Name{Owner: "search", Name: "a", Limit: 10, Again: true}, draft, false, 1},
			{event.Name{Owner: "search", Name: "b"}, nil, true, 1},
			{event.Name{Owner: "search", Name: "b"}, draft, false, 1},
			{event.Name{Owner: "shop", Name: "a"}, nil, true, 1},
			{event.Name{Owner: "search", Name: "a", Limit: 11}, draft, false, 1},
			{event.Name{Owner: "search", Name: "a", Limit: 11, Again: true}, draft, true, 2},
			{event.Name{Owner: "search", Name: "a", Limit: 10, Again: true}, draft, false, 2},
			{event.Name{Owner: "search", Name: "a", Limit: 11, Again: true}, draft, false, 2},
			{event.Name{Owner: "search", Name: "b", Limit: 1 << 52, Again: true}, nil, true, 2},
			{event.Name{Owner: "search", Name: "b", Limit: 1<<52 + 1, Again: true}, nil, true, 2},
			{event.Name{Owner: "search", Name: "c", Limit: 10, Turn: true}, draft, false, 2}, // it has ended, and never began
			{event.Name{Owner: "search", Name: "c", Limit: 11, Turn: true}, draft, true, 3},
			{event.Name{Owner: "search", Name: "c", Limit: 13, Turn: true}, draft, false, 3}, // another heard of it later
			{event.Name{Owner: "search", Name: "c", Limit: 10, Turn: true}, draft, false, 3}, // it was no more before it began
			{event.Name{Owner: "search", Name: "c", Limit: 16, Turn: true}, nil, true, 3},
			{event.Name{Owner: "search", Name: "c", Limit: 15, Turn: true}, draft, false, 3}, // it began before it ended
			{event.Name{Owner: "search", Name: "c", Limit: 1<<52 + 1, Turn: true}, draft, true, 4},
			{event.Name{Owner: "search", Name: "c", Limit: 1<<52 + 2, Turn: true}, draft, true, 5},
		} {
			got, err := f.once.Once(f.Context(), tt.Name, tt.draft)
			list, _, listed := f.After(f.Context(), event.ID{Owner: "search"}, 10)
			if err != nil || listed != nil || got != tt.want || len(list) != tt.written {
				f.Errorf("%d: %v %v, %d events, %v", i, got, err, len(list), listed)
			}
		}
	})
}
