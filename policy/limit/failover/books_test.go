package failover

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

// ledgerOfOne is the state of one replica and one unit in Redis, as allowance.lua keeps it.
type ledgerOfOne struct {
	aside, posted int64
	held          map[string]int64 // the holds that were placed; 0: it was settled
	call          int64
}

// execute does the work of allowance.lua, with room for any growth. It returns the growth of the allowance, and whether the
// call came too late.
func (l *ledgerOfOne) execute(r *renewal) (grown int64, late bool) {
	if r.Call <= l.call {
		return 0, true
	}
	l.call = r.Call
	for _, run := range r.Running {
		if _, known := l.held[run.Held.ID]; !known {
			l.held[run.Held.ID] = run.Held.Amounts[limit.Images]
		}
	}
	l.aside = 0
	for _, row := range r.Rows {
		grown += row.Want[limit.Images]
		l.aside += row.Keep[limit.Images] + row.Want[limit.Images]
	}
	return grown, false
}

// restore does the work of restore.lua after Redis forgot all that this replica is not known to hold there.
func (l *ledgerOfOne) restore(call int64, rows []redisstore.SetAside) {
	l.call, l.aside = call, 0
	for _, row := range rows {
		l.aside += row.Of[limit.Images]
	}
}

// settle does the work of settle.lua.
func (l *ledgerOfOne) settle(id string, used int64) {
	l.held[id] = 0
	l.posted += used
}

// keeper drives the books of one team in random order.
type keeper struct {
	t       *rapid.T
	s       *renewer
	b       *books
	team    *teams.Team
	now     time.Time
	redis   ledgerOfOne
	loans   []*loan
	holds   []*limit.Held
	late    []*renewal // may still be executed
	settled int64      // used of all that was settled
	sums    []keptSum  // settled here, and to be posted
	n       int
}

// In any order of events, and whichever replies are lost, Redis has set aside, charged and held as much as the replica may
// still spend, has lent, and has spent.
func TestBooksNeverSpendMoreThanIsSetAside(t *testing.T) {
	team := limittest.Team(t, "quotas: {images: {day: 1000000}}")
	rapid.Check(t, func(t *rapid.T) {
		k := &keeper{t: t, team: team, now: time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC), redis: ledgerOfOne{held: map[string]int64{}}}
		k.s = &renewer{accounts: &accounts{link: link{Config: &Config{Store: redisstore.New(nil), Bridge: bridgeDefault}}}}
		k.b = k.s.teams.Get("search")
		k.b.team = k.team
		t.Repeat(map[string]func(*rapid.T){
			"lends": k.lends, "answers": k.answers, "spends": k.spends, "settles": k.settles, "renews": k.renews, "arrives late": k.arrives,
			"posts": k.posts, "is forgotten": k.forgotten, "": k.holdsUp,
		})
	})
}

func (k *keeper) lends(t *rapid.T) {
	h := &limit.Hold{Team: k.team, Amounts: limit.Amounts{limit.Images: rapid.Int64Range(1, 5).Draw(t, "images")}}
	l := k.b.see(h, limit.CalendarOf(k.now).Day, k.now)
	k.loans = append(k.loans, &l)
}

// answers ends a loan: Redis took a part of it for a hold.
func (k *keeper) answers(t *rapid.T) {
	if len(k.loans) == 0 {
		t.Skip()
	}
	l := k.loans[0]
	k.loans = k.loans[1:]
	took := min(rapid.Int64Range(0, 5).Draw(t, "took"), l.Most[limit.Images], k.redis.aside)
	k.n++
	k.redis.aside -= took
	k.redis.held[fmt.Sprint("r", k.n)] = took
	k.b.answered(l, limit.Stock{limit.Images: took}, nil, k.now)
}

// spends decides a request without Redis, which may hold it all the same.
func (k *keeper) spends(t *rapid.T) {
	if len(k.loans) == 0 {
		t.Skip()
	}
	l := k.loans[0]
	k.loans = k.loans[1:]
	k.n++
	h := &limit.Held{ID: fmt.Sprint("h", k.n), Team: "search", Amounts: limit.Amounts{limit.Images: l.Most[limit.Images]},
		Day: limit.CalendarOf(k.now).Day}
	state := localOnly
	if rapid.Bool().Draw(t, "in doubt") {
		state = maybeInRedis
	}
	if state == maybeInRedis && rapid.Bool().Draw(t, "and held") {
		k.redis.held[h.ID] = h.Amounts[limit.Images]
	}
	k.b.spend(l, &spent{held: h, due: k.now.Add(time.Hour), state: state}, k.now)
	k.holds = append(k.holds, h)
}

func (k *keeper) settles(t *rapid.T) {
	if len(k.holds) == 0 {
		t.Skip()
	}
	h := k.holds[0]
	k.holds = k.holds[1:]
	used := rapid.Int64Range(0, h.Amounts[limit.Images]).Draw(t, "used")
	k.settled += used
	if k.b.settle(&limit.Charge{Held: h, Amounts: limit.Amounts{limit.Images: used}}) {
		k.sums = append(k.sums, keptSum{amounts: limit.Amounts{limit.Images: used}})
		return
	}
	k.redis.settle(h.ID, used)
	k.b.settledByRedis(h.ID)
}

// keptSum is a charge of the use settled here, and whether Redis has it.
type keptSum struct {
	amounts limit.Amounts
	charged bool
}

// posts charges the use settled here. If its reply is lost, it is sent again.
func (k *keeper) posts(t *rapid.T) {
	if len(k.sums) == 0 {
		t.Skip()
	}
	s := &k.sums[0]
	if !s.charged {
		s.charged = true
		k.redis.posted += s.amounts[limit.Images]
	}
	if rapid.Bool().Draw(t, "its reply comes") {
		k.b.posted(limit.CalendarOf(k.now).Day, s.amounts)
		k.sums = k.sums[1:]
	}
}

// renews makes a renewal. The call may be late or lost, and so may its reply.
func (k *keeper) renews(t *rapid.T) {
	k.now = k.now.Add(time.Second)
	terms := limit.TermsOf(k.team)
	r := &renewal{Renewal: redisstore.Renewal{Team: k.team}, terms: terms}
	size := limit.Stock{limit.Images: rapid.Int64Range(0, 30).Draw(t, "size")}
	k.b.compose(r, "r", map[int]limit.Stock{limit.CalendarOf(k.now).Day: size}, k.now)
	switch rapid.SampledFrom([]string{"well", "well", "its reply is lost", "late"}).Draw(t, "fate") {
	case "late":
		k.late = append(k.late, r)
	case "its reply is lost":
		k.redis.execute(r)
	default:
		if grown, late := k.redis.execute(r); !late {
			r.Rows[0].Grown[limit.Images] = grown
			k.s.acknowledged(r, k.now)
		}
	}
}

// arrives executes a call that was late.
func (k *keeper) arrives(t *rapid.T) {
	if len(k.late) == 0 {
		t.Skip()
	}
	i := rapid.IntRange(0, len(k.late)-1).Draw(t, "call")
	k.redis.execute(k.late[i])
	k.late = append(k.late[:i], k.late[i+1:]...)
}

// forgotten makes Redis lose its memory, and restores what the replica knows of it. Other parts restore the known holds and the
// use, the books what is to be set aside.
func (k *keeper) forgotten(*rapid.T) {
	for id := range k.b.running {
		delete(k.redis.held, id)
	}
	for i := range k.sums {
		if k.sums[i].charged { // its reply was lost: it is charged again
			k.redis.posted -= k.sums[i].amounts[limit.Images]
			k.sums[i].charged = false
		}
	}
	k.redis.restore(k.b.setAside())
}

func (k *keeper) holdsUp(t *rapid.T) {
	k.b.mu.Lock()
	defer k.b.mu.Unlock()
	need := k.settled
	for _, a := range k.b.allowances {
		need += max(a.left[limit.Images], 0) + a.lent[limit.Images]
	}
	for _, h := range k.holds {
		need += h.Amounts[limit.Images]
	}
	has := k.redis.aside + k.redis.posted
	for id, n := range k.redis.held {
		if id[0] == 'h' {
			has += n
		}
	}
	if need > has {
		t.Fatalf("%d may be spent, are lent or are spent, and Redis has %d for them", need, has)
	}
}
