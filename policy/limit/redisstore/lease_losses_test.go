package redisstore

import (
	"strings"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// taskReplicas are two replicas with a task of a team that may have one.
type taskReplicas struct {
	*testing.T
	clock      *limittest.Clock
	team       *teams.Team
	other, own *Store // own places the task
}

func newTaskReplicas(t *testing.T) (taskReplicas, func() (older func())) {
	client := limittest.RealRedis(t)
	r := taskReplicas{T: t, clock: limittest.NewClock(), team: limittest.Team(t, "open_tasks: 1", "quotas: {images: {day: 100}}")}
	for i, of := range []**Store{&r.other, &r.own} {
		*of = New(client)
		(*of).Clock, (*of).Now = r.clock.Micros, r.clock.Now
		(*of).Peer = Peer{ID: strings.Repeat(string(rune('a'+i)), 12), Alive: func() int64 { return 2 }}
		_, err := (*of).Look(t.Context(), r.team)
		r.must(err)
	}
	return r, func() func() { return limittest.Copy(t, client) }
}

func (r taskReplicas) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r taskReplicas) place(of *Store, id string) *limit.Held {
	r.Helper()
	h := hold(id, r.team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
	h.Task, h.Lease = true, 11*time.Minute
	v, _, err := of.Place(r.Context(), &h, &Loan{})
	r.must(err)
	return v.Held
}

func (r taskReplicas) restore(of ...*Store) {
	r.Helper()
	for _, s := range of {
		r.must(s.Restore(r.Context(), r.team.ID, Loss{Recent: true}))
	}
}

func (r taskReplicas) sweep() {
	r.Helper()
	for _, s := range []*Store{r.other, r.own} {
		_, err := s.Sweep(r.Context(), r.team.ID, 100)
		r.must(err)
		r.must(s.CheckOwn(r.Context(), r.team.ID))
	}
}

// stands checks how many images are used and held, and how many tasks are open.
func (r taskReplicas) stands(about string, used, held, tasks int64) {
	r.Helper()
	s, err := r.other.Look(r.Context(), r.team)
	if r.must(err); s.Used[2*limit.Images] != used || s.Held[2*limit.Images] != held || s.Tasks != tasks {
		r.Errorf("%s: %d images are used, %d held by %d open tasks; want %d, %d and %d", about, s.Used[2*limit.Images],
			s.Held[2*limit.Images], s.Tasks, used, held, tasks)
	}
}

// rows checks what the ledger has of the day's images.
func (r taskReplicas) rows(day int, want map[string]int64) {
	r.Helper()
	rows, err := r.other.Rows(r.Context(), limit.Query{Teams: []string{r.team.ID}, Days: []int{day}})
	r.must(err)
	got := map[string]int64{}
	for _, row := range rows {
		got[row.Model+"@"+row.Account] += row.Used[limit.Images]
	}
	for of, n := range want {
		if got[of] != n {
			r.Errorf("the ledger has %d images of %s, want %d: %v", got[of], of, n, got)
		}
	}
}

// Redis loses a task's hold before the task is created, and no replica has noticed yet: its new lease and account are restored.
func TestALeaseOfALostHoldIsRestored(t *testing.T) {
	for _, older := range []bool{false, true} {
		r, copied := newTaskReplicas(t)
		back := copied()
		held := r.place(r.own, "task")
		_, err := r.other.Look(t.Context(), r.team)
		r.must(err)
		if older {
			back()
		} else {
			r.must(r.own.client.FlushAll(t.Context()).Err())
		}
		moved := *held
		moved.Account = "eu"
		if err := r.own.Extend(t.Context(), &moved, 25*time.Hour); !NotDone(err) {
			t.Errorf("older %v: the lease of a hold that Redis lacks: %v", older, err)
		}
		r.restore(r.other, r.own)
		r.clock.Move(12 * time.Minute)
		r.sweep()
		r.stands("after 12 minutes", 0, 4, 1)
		if r.place(r.other, "second") != nil {
			t.Errorf("older %v: a second task is admitted beside the first", older)
		}
		r.clock.Move(25 * time.Hour)
		r.sweep()
		r.rows(held.Day, map[string]int64{"llm-max@eu": 4})
	}
}

// A hold that Redis lacks, although its accounts are not known to be lost, is extended by another call, until its replica gives it up.
func TestAHoldThatRedisLacksIsNotExtended(t *testing.T) {
	r, _ := newTaskReplicas(t)
	held := r.place(r.own, "task")
	k := r.own.teams.Get(r.team.ID)
	r.must(r.own.client.Del(t.Context(), k.hold+"task").Err())
	if err := r.own.Extend(t.Context(), held, time.Hour); !NotDone(err) {
		t.Errorf("its replica: %v", err)
	}
	if err := r.other.Extend(t.Context(), held, time.Hour); err != nil {
		t.Errorf("another replica, which would repeat it for ever: %v", err)
	}
	r.sweep() // its replica gives it up
	if err := r.own.Extend(t.Context(), held, time.Hour); err != nil {
		t.Errorf("its replica, which has given it up: %v", err)
	}
}

// Redis is back with an older copy, in which the lease of a task has ended that was extended since. A replica that has just started comes
// first, so the task expires. It is open again when its own replica restores, whichever replica restores before, and what each knows to be
// used counts once.
func TestATaskThatExpiredInAnOlderCopyIsOpenAgain(t *testing.T) {
	for name, late := range map[string]bool{"its replica restores": false, "its replica restores late": true} {
		for _, first := range []string{"own", "other"} {
			t.Run(name+", first "+first, func(t *testing.T) {
				r, copied := newTaskReplicas(t)
				free := limittest.Team(t, "quotas: {images: {day: 100}}") // its terms without open tasks: the same accounts
				use := func(id string, images int64) {
					h := hold(id, free, limit.Amounts{limit.Requests: 1, limit.Images: images})
					h.Lease = time.Minute
					v, _, err := r.own.Place(t.Context(), &h, &Loan{})
					r.must(err)
					done, err := r.own.Settle(t.Context(), &limit.Charge{Held: v.Held, Team: free, Amounts: h.Amounts})
					if !done || err != nil {
						t.Fatal(done, err)
					}
				}
				use("before", 3)
				held := r.place(r.own, "task")
				back := copied()
				r.must(r.own.Extend(t.Context(), held, 25*time.Hour))
				use("since", 20)
				_, err := r.other.Look(t.Context(), r.team)
				r.must(err)
				r.clock.Move(15 * time.Minute)
				back()
				fresh := New(r.own.client)
				fresh.Clock, fresh.Now, fresh.Peer = r.clock.Micros, r.clock.Now, Peer{ID: "c", Alive: func() int64 { return 3 }}
				r.must(fresh.Restore(t.Context(), r.team.ID, Loss{Listed: true}))
				_, err = fresh.Sweep(t.Context(), r.team.ID, 100)
				r.must(err)
				r.stands("swept", 7, 0, 0)
				order := []*Store{r.own, r.other}
				if first == "other" {
					order = []*Store{r.other, r.own}
				}
				r.restore(order[0])
				if late {
					r.clock.Move(3 * time.Second)
				}
				r.restore(order[1])
				want := int64(23)
				if late && first == "other" { // it may have expired since the others restored: then that is in what was charged since
					want -= 4
				}
				r.stands("restored", want, 4, 1)
				r.clock.Move(12 * time.Minute)
				r.sweep()
				r.stands("later", want, 4, 1)
				if r.place(r.other, "second") != nil {
					t.Error("a second task is admitted beside the first")
				}
				done, err := r.own.Settle(t.Context(), &limit.Charge{Held: held, Team: r.team, Amounts: limit.Amounts{limit.Images: 2}})
				if !done || err != nil {
					t.Error(done, err)
				}
				r.stands("settled", want+2, 0, 0)
				if want == 23 {
					r.rows(held.Day, map[string]int64{"llm-max@": 5, "restored@": 20})
				}
			})
		}
	}
}

// Many holds are restored by several calls. What one of the last takes back stays taken back, and is not missing in what is used.
func TestManyHoldsThatExpiredInAnOlderCopyAreOpenAgain(t *testing.T) {
	r, copied := newTaskReplicas(t)
	many := limittest.Team(t, "quotas: {images: {day: 10000}}")
	place := func(n int) *limit.Held {
		h := hold(id(n), many, limit.Amounts{limit.Requests: 1, limit.Images: 1})
		h.Lease = 11 * time.Minute
		v, _, err := r.own.Place(t.Context(), &h, &Loan{})
		r.must(err)
		return v.Held
	}
	var open []*limit.Held
	for n := range 2*restoreBatch + 1 {
		open = append(open, place(n))
	}
	back := copied()
	for _, h := range open {
		r.must(r.own.Extend(t.Context(), h, 25*time.Hour))
	}
	for n := range 500 {
		h := place(1000 + n)
		_, err := r.own.Settle(t.Context(), &limit.Charge{Held: h, Team: many, Amounts: h.Amounts})
		r.must(err)
	}
	r.clock.Move(15 * time.Minute)
	back()
	fresh := New(r.own.client)
	fresh.Clock, fresh.Now, fresh.Peer = r.clock.Micros, r.clock.Now, Peer{ID: "c", Alive: func() int64 { return 2 }}
	r.must(fresh.Restore(t.Context(), r.team.ID, Loss{Listed: true}))
	_, err := fresh.Sweep(t.Context(), r.team.ID, 1000)
	r.must(err)
	r.stands("swept", int64(len(open)), 0, 0)
	r.restore(r.own)
	r.stands("restored", 500, int64(len(open)), 0)
	r.rows(open[0].Day, map[string]int64{"llm-max@": 0, "restored@": 500})
}

// TestATaskThatIsOpenAgainIsChargedOnce: the replica that saw it expire in the older copy restores the accounts, too, when it has noticed.
func TestATaskThatIsOpenAgainIsChargedOnce(t *testing.T) {
	for since, want := range map[int64]int64{0: 4, 20: 24} { // images that are charged after the copy
		r, copied := newTaskReplicas(t)
		held := r.place(r.own, "task")
		back := copied()
		r.must(r.own.Extend(t.Context(), held, 25*time.Hour))
		if since > 0 {
			free := limittest.Team(t, "quotas: {images: {day: 100}}")
			h := hold("since", free, limit.Amounts{limit.Requests: 1, limit.Images: since})
			v, _, err := r.own.Place(t.Context(), &h, &Loan{})
			r.must(err)
			_, err = r.own.Settle(t.Context(), &limit.Charge{Held: v.Held, Team: free, Amounts: h.Amounts})
			r.must(err)
		}
		r.clock.Move(15 * time.Minute)
		back()
		fresh := New(r.own.client)
		fresh.Clock, fresh.Now, fresh.Peer = r.clock.Micros, r.clock.Now, Peer{ID: "c", Alive: func() int64 { return 2 }}
		r.must(fresh.Restore(t.Context(), r.team.ID, Loss{Listed: true}))
		_, err := fresh.Sweep(t.Context(), r.team.ID, 100)
		r.must(err)
		r.restore(r.own)
		r.must(fresh.Restore(t.Context(), r.team.ID, Loss{}))
		r.clock.Move(3 * time.Second)
		_, err = r.own.Settle(t.Context(), &limit.Charge{Held: held, Team: r.team, Amounts: limit.Amounts{limit.Images: 4}})
		r.must(err)
		s, err := fresh.Look(t.Context(), r.team)
		if r.must(err); s.Used[2*limit.Images] != want {
			t.Errorf("%d charged after the copy: used %d, want %d", since, s.Used[2*limit.Images], want)
		}
	}
}
