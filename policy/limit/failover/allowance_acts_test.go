package failover

import (
	"context"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"sluice/policy/limit"
)

// requestLease is the lease of a request, and of a task until it is extended.
const requestLease = 12 * time.Minute

// run plays every act and checks the accounts after each.
func (w *world) run() {
	for _, a := range w.story.acts {
		w.say("%s", a)
		w.make(a)
		synctest.Wait() // the calls that have begun by now
		w.heldAddsUp()
	}
}

func (w *world) make(a act) {
	switch a.do {
	case passes:
		w.pass(a.wait)
	case forgets:
		w.forget()
	case saves:
		w.saved = dumpOf(w.server)
	case rollsBack:
		w.rollBack()
	default:
		for _, r := range w.crew(a.who) {
			w.with(r, a)
		}
	}
}

// with plays an act of a replica.
func (w *world) with(r *replica, a act) {
	switch a.do {
	case asks:
		w.ask(r, a)
	case settles:
		w.settle(r, a, func(q *request) bool { return q.by == r })
	case takesOver:
		w.settle(r, a, func(q *request) bool { return q.by != r && q.task })
	case repeats:
		w.repeat(r)
	case extends:
		w.extend(r)
	case fares:
		w.fare(r, a.lets, a.calls)
	case arrives:
		w.say("    %d commands arrive late", w.arrive(r.name))
	case maintains:
		w.maintain(r)
	case watches:
		w.watch(r)
	case looks:
		w.look(r)
	case dies:
		w.kill(r)
	case restarts:
		w.restart(r)
	case reads:
		w.calm = false // it may refuse a request that another would admit
		w.read(r, a.limit)
	}
}

// tendsAt are the moments of a wait at which replicas maintain their state. In production they do so every second; a test
// has less time. Longer waits repeat the last step, which is shorter than the life of an allowance.
var tendsAt = []time.Duration{time.Second, 11 * time.Second, 5 * time.Minute}

// pass waits.
func (w *world) pass(d time.Duration) {
	for gone := time.Duration(0); gone < d; {
		next := gone + tendsAt[len(tendsAt)-1]
		for _, at := range slices.Backward(tendsAt) {
			if at > gone {
				next = at
			}
		}
		next = min(next, d)
		begun := time.Now()
		time.Sleep(next - gone)
		gone = next
		w.heardSince(begun)
		w.tendAll()
	}
}

// heardSince records the reports that live replicas would have made each second of a wait, if Redis received them until
// then.
func (w *world) heardSince(begun time.Time) {
	at, until := time.Now().Add(-time.Second), begun.Add(-time.Second)
	for _, r := range w.crew(everywhere) {
		words := &r.shared.link
		words.mu.Lock()
		known := fmt.Sprint(words.last.At.UnixMicro())
		if r.wire.now() == works && at.After(words.last.At) && !words.last.At.Before(until) &&
			w.server.HGet("sl1:replicas", r.shared.Store.Peer.ID) == known {
			words.last.At, words.at = at, r.shared.Now().Add(-time.Second)
			w.server.HSet("sl1:replicas", r.shared.Store.Peer.ID, fmt.Sprint(at.UnixMicro()), "last", fmt.Sprint(at.UnixMicro()))
			w.mu.Lock()
			if !w.lastReach.Before(until) {
				w.lastReach = at
			}
			w.mu.Unlock()
		}
		words.mu.Unlock()
	}
}

func (w *world) tendAll() {
	for _, r := range w.crew(everywhere) {
		w.maintain(r)
	}
	w.lapse()
}

// watch waits while one replica maintains its state as often as in production.
func (w *world) watch(r *replica) {
	for range 11 * 60 / 3 {
		time.Sleep(3 * time.Second)
		w.maintain(r)
	}
	w.lapse()
}

// lapse ends the losses that no longer excuse anything.
func (w *world) lapse() {
	w.losses = slices.DeleteFunc(w.losses, func(l loss) bool { return time.Since(l.at) > settlesIn })
}

// ask makes requests. If calls are slow, all are made concurrently, while the replica maintains its state.
func (w *world) ask(r *replica, a act) {
	counts := map[string]int{}
	if r.wire.now() != isSlow {
		for range a.times {
			w.judge(r, kinds[a.kind], counts, w.admit(r, kinds[a.kind]))
		}
	} else {
		answers := make(chan answer, a.times)
		for range a.times {
			w.n++
			n := w.n
			go func() { answers <- w.admitAs(r, kinds[a.kind], n) }()
		}
		w.maintain(r)
		for range a.times {
			w.judge(r, kinds[a.kind], counts, <-answers)
		}
	}
	w.say("    %s: %v", r.name, counts)
}

// answer is the outcome of a request.
type answer struct {
	verdict limit.Verdict
	err     error
	at      time.Time
	sure    bool // Redis was called
}

func (w *world) admit(r *replica, k kind) answer {
	w.n++
	return w.admitAs(r, k, w.n)
}

func (w *world) admitAs(r *replica, k kind, n int) answer {
	now := time.Now()
	h := limit.Hold{
		ID: idAt(now, n), Team: r.teams[k.team], Outside: w.outside(&k), Account: k.account, Model: k.model, Endpoint: k.endpoint, Tag: k.tag,
		Key: k.key, Amounts: k.amounts, Task: k.task, Lease: requestLease,
	}
	sure := r.wire.sure()
	v, err := r.shared.Admit(context.Background(), &h)
	return answer{verdict: v, err: err, at: now, sure: sure}
}

// judge notes the outcome of a request, and checks an admission against the limits.
func (w *world) judge(r *replica, k kind, counts map[string]int, a answer) {
	v := a.verdict
	switch {
	case a.err != nil:
		counts["503"]++
		w.refused = append(w.refused, &request{kind: k, by: r})
		if w.calm {
			w.fail("%s: %v, although all is well", r.name, a.err)
		}
		return
	case v.Held == nil:
		counts["429 "+string(v.Reason)]++
		w.refused = append(w.refused, &request{kind: k, by: r})
		w.refusedRightly(k, v)
		return
	}
	counts["200"]++
	q := &request{kind: k, held: v.Held, by: r, at: a.at, due: a.at.Add(requestLease), told: a.sure && r.wire.sure(),
		aside: r.counted(k.team, k.amounts)}
	q.terms = limit.TermsFor(r.teams[k.team], k.key)
	w.requests = append(w.requests, q)
	w.blurred = w.blurred || !q.told && w.story.start != "at noon"
	w.dayIsRight(q)
	w.withinLimits(q)
	w.withinOutside(q)
	w.withinParts(q)
}

func (w *world) look(r *replica) {
	for _, team := range r.teams {
		if report, err := r.shared.Look(context.Background(), team); err != nil {
			w.say("    %s: %v", team.ID, err)
		} else if report.Tasks < 0 {
			w.fail("%s has %d open tasks", team.ID, report.Tasks)
		}
	}
	if _, err := r.shared.Rows(context.Background(), limit.Query{}); err != nil {
		w.say("    %v", err)
	}
}

// fare sets how a replica's calls fare.
func (w *world) fare(r *replica, lets passage, calls int) {
	if lets != works {
		w.calm = false
		w.cutOff(r)
	}
	r.wire.set(lets, calls)
}
