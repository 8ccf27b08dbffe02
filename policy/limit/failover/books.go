package failover

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

// books hold what this replica knows of one team in addition to Redis: its allowances, and their use. There is no mode
// without Redis: each request calls Redis first, and spends its loan if Redis does not answer.
type books struct {
	terms      limit.KeptTerms
	restoring  *semaphore.Weighted // held while its accounts are restored
	failures   atomic.Int64        // attempts to restore them that failed
	restored   atomic.Int64        // the number (link.memory) of the memory of Redis that has what is known here; 0: none
	known      atomic.Bool         // it was in Redis's list when this process first asked
	listed     atomic.Bool         // it may be charged: it is in the list, and the decimals of money are agreed on
	mu         sync.Mutex
	team       *teams.Team               // as of its last request; nil: none yet
	seen       time.Time                 // its last request
	lastAnswer time.Time                 // when Redis last answered about it
	considered time.Time                 // when a renewal of its allowances was last considered
	renewed    time.Time                 // when they were last renewed
	allowances allowances                // of today and, towards midnight, of tomorrow
	running    map[string]*spent         // admitted here, and not known to be held in Redis, by id
	held       map[int]limit.Amounts     // by the running ones, by day
	openTasks  int64                     // of the running ones
	unposted   map[int]limit.Amounts     // settled here, by day, and not yet charged in Redis
	rated      map[ratesOf]limit.Amounts // taken from the rates here, and not yet from Redis's
	calls      int64                     // calls that reported allowances to Redis
	recent     recent
	lost       []redisstore.LostAside // as they were at lostAt, by Redis's clock
	lostAt     time.Time
}

// ratesOf names the rates of a team, or of a part of it.
type ratesOf struct {
	kind limit.ScopeKind
	name string
}

// spent is a request that was admitted without Redis.
type spent struct {
	held  *limit.Held
	from  *allowance  // nil: no quota counts it
	took  limit.Stock // of the allowance
	due   time.Time   // the end of its lease
	state holdState
}

// see records a request of the team, and lends it what it may take of the day's allowance.
func (b *books) see(h *limit.Hold, day int, now time.Time) (l loan) {
	want := limit.StockOf(&h.Amounts, h.Task)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.team, b.seen = h.Team, now
	if a := b.allowances.on(day); a != nil {
		l = a.lend(want)
	}
	return l
}

// answered records that Redis has answered, and what it took of the loan. held is nil if it refused.
func (b *books) answered(l *loan, took limit.Stock, held *limit.Held, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.end(took)
	b.lastAnswer = now
	if held != nil {
		b.recent.add(limit.StockOf(&held.Amounts, held.Task), now)
	}
}

// giveUp ends a loan of which nothing was taken. After spend it does nothing.
func (b *books) giveUp(l *loan) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.end(limit.Stock{})
}

// covers reports whether a loan is enough for a request, in all that is counted, and may be spent on that day at that
// moment.
func (b *books) covers(l *loan, want limit.Stock, counted *limit.Terms, day int, now time.Time) bool {
	b.mu.Lock() // a renewal may change how long the allowance may be spent
	defer b.mu.Unlock()
	for i, n := range want {
		if n == 0 || !counted.Counts(i) {
			continue
		}
		if l.from == nil || l.from.day != day || l.Most[i] < n || !now.Before(l.from.until) {
			return false
		}
	}
	return true
}

// spend turns a loan into a hold here.
func (b *books) spend(l *loan, s *spent, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.from, s.took = l.from, l.Most
	l.end(l.Most)
	b.recent.add(s.took, now)
	if s.state == localOnly { // else its settlement takes from Redis's rates
		b.rate(s.held)
	}
	if b.running == nil {
		b.running, b.held = map[string]*spent{}, map[int]limit.Amounts{}
	}
	b.running[s.held.ID] = s
	b.held[s.held.Day] = b.held[s.held.Day].Plus(s.held.Amounts)
	if s.held.Task {
		b.openTasks++
	}
}

// rate records from which rates a hold was taken here. The lock is held.
func (b *books) rate(h *limit.Held) {
	if b.rated == nil {
		b.rated = map[ratesOf]limit.Amounts{}
	}
	for k := range limit.ScopeKind(limit.TeamScopes) {
		if of := (ratesOf{k, h.Inner(k).Name()}); h.Rates.Of(k) != 0 {
			b.rated[of] = b.rated[of].Plus(h.Amounts)
		}
	}
}

// happens applies an event to a request, and returns its new state. The lock is held.
func (b *books) happens(s *spent, event holdEvent) holdState {
	if s.state = nextState[s.state][event]; s.state != inRedis || b.running[s.held.ID] != s {
		return s.state
	}
	delete(b.running, s.held.ID)
	if s.held.Task {
		b.openTasks--
	}
	if b.held[s.held.Day] = b.held[s.held.Day].Minus(s.held.Amounts); b.held[s.held.Day] == (limit.Amounts{}) {
		delete(b.held, s.held.Day)
	}
	return inRedis
}

// settle settles a request if Redis does not know it, and reports whether it did. The caller posts its charge.
func (b *books) settle(c *limit.Charge) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	h, used := c.Held, c.Amounts
	s := b.running[h.ID]
	event := requestEnded
	if c.ByID() {
		event = taskEnded
	}
	if s == nil || b.happens(s, event) != inRedis {
		return false
	}
	if s.from != nil {
		s.from.giveBack(s.took, limit.StockOf(&used, false))
	}
	if b.unposted == nil {
		b.unposted = map[int]limit.Amounts{}
	}
	b.unposted[h.Day] = b.unposted[h.Day].Plus(used)
	return true
}

// posted records that Redis has charged what was settled here.
func (b *books) posted(day int, used limit.Amounts) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unposted[day] = b.unposted[day].Minus(used); b.unposted[day] == (limit.Amounts{}) {
		delete(b.unposted, day)
	}
	b.considered, b.renewed = time.Time{}, time.Time{} // so that what was set aside for it is given back immediately
}

// extend gives what runs here a new lease, and reports whether Redis may hold it.
func (b *books) extend(id string, due time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.running[id]
	if s != nil && due.After(s.due) {
		s.due = due
	}
	return s == nil || s.state == maybeInRedis
}

// moveHere changes the account under which what runs here is charged, and how much it holds.
func moveHere(b *books, h *limit.Held) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.running[h.ID]; s != nil {
		moved, was := *s.held, s.held.Amounts
		moved.Account, moved.Amounts, s.held = h.Account, moved.Amounts.AtMost(h.Amounts), &moved
		b.held[h.Day] = b.held[h.Day].Plus(moved.Amounts).Minus(was)
	}
}

// spending reports whether something was spent here that Redis does not know.
func (b *books) spending() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.unreported()
}

func (b *books) unreported() bool {
	return len(b.running)+len(b.unposted)+len(b.rated) > 0
}

// settledByRedis records that Redis has settled a request that was admitted here. What was set aside for it is given back soon.
func (b *books) settledByRedis(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.running[id]
	if s == nil {
		return
	}
	if s.from != nil {
		b.considered, b.renewed = time.Time{}, time.Time{}
	}
	b.happens(s, settledInRedis)
}

// setAside is the amount that Redis must have set aside on each day: all that may be spent, is lent, or was spent and
// not posted. call is its number, counted together with the renewals.
func (b *books) setAside() (call int64, rows []redisstore.SetAside) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.allowances {
		of := a.left.AtMost(a.left).Plus(a.lent)
		for _, s := range b.running {
			if s.from == a {
				of = of.Plus(s.took)
			}
		}
		rows = append(rows, redisstore.SetAside{Day: a.day, Of: a.counted(of).Plus(b.owed(a))})
	}
	b.calls++
	return b.calls, rows
}

// owed is the part of an allowance that was spent and settled, but not posted. The lock is held.
func (b *books) owed(a *allowance) limit.Stock {
	used := b.unposted[a.day]
	return a.counted(limit.StockOf(&used, false))
}

// counted is the part of a stock that the allowance covers.
func (a *allowance) counted(n limit.Stock) limit.Stock {
	for i := range n {
		if !a.counts(i) {
			n[i] = 0
		}
	}
	return n
}

// openHolds counts the running requests.
func (b *books) openHolds() (o limit.OpenHolds) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.running {
		o.Note(limit.MadeAt(s.held.ID))
	}
	return o
}

// answeredAfter reports whether Redis answered about the team after a moment.
func (b *books) answeredAfter(at time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lastAnswer.After(at)
}

// spentInto adds to a team's last known state the use here that Redis does not know.
func (b *books) spentInto(st *limit.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	st.Tasks += b.openTasks
	for q := range st.Used {
		for day, used := range b.unposted {
			if day/100 == st.Date.Month && (q%2 == 1 || day == st.Date.Day) {
				st.Used[q] += used[q/2]
			}
		}
		for day, held := range b.held {
			if day/100 == st.Date.Month && (q%2 == 1 || day == st.Date.Day) {
				st.Held[q] += held[q/2]
			}
		}
	}
}
