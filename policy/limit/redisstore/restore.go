package redisstore

import (
	"context"
	"strconv"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

const (
	restoreBatch  = 200             // holds that are put back in one call, so that it keeps Redis from nobody
	RestoringTime = 2 * time.Second // its twin is in restore.lua
)

// Peer is what a process is among the replicas. The zero peer is alone and sets nothing aside.
type Peer struct {
	ID    string
	Alive func() int64            // replicas that may have something to put back
	Gap   func() (from, to int64) // the last time in which Redis was away for all, in microseconds; 0: not known
	Lease time.Duration
	Aside func(team string) (call int64, rows []SetAside) // what the process may spend of a team, or has spent untold
}

// SetAside is what Redis is to set aside for a day.
type SetAside struct {
	Day int
	Of  limit.Stock
}

// Loss is what a replica knows of Redis's memory as a whole.
type Loss struct {
	Lately bool // it began a moment ago, and there was another one before
	Listed bool // it names the team among those that ever asked
}

// Restore puts back what this process knows of a team whose accounts are gone: what it used, where the state knows less, what
// this process holds, and what was set aside for it. Nobody here asks for the team before all of it is there.
func (r *Store) Restore(ctx context.Context, team string, m Loss) error {
	o := r.teams.Get(team)
	met := o.witness().epoch
	if err := o.restoring.Acquire(ctx, 1); err != nil { // no request waits longer for this than for Redis
		return err
	}
	defer o.restoring.Release(1)
	known := o.witness()
	if known.epoch != met { // another call has done it
		return nil
	}
	o.mu.Lock()
	again := known.epoch != 0 && r.Now().Sub(o.restored) < 2*RestoringTime // what was lost then is back
	o.mu.Unlock()
	call := puttingBack{Loss: m, wentBack: m.Lately && !r.Cluster && !again, known: known, counts: o.counts()}
	if r.Peer.Aside != nil {
		call.number, call.rows = r.Peer.Aside(team)
	}
	var holds []ownHold
	if known.epoch != 0 {
		holds = o.all()
	}
	var s standing
	for first := true; first || len(holds) > 0; first = false {
		n := min(restoreBatch, len(holds))
		call.holds, call.last = holds[:n], n == len(holds)
		var err error
		if s, err = r.restoreSome(ctx, team, &call); err != nil {
			return err
		}
		holds = holds[n:]
		call.counts, call.rows, call.number, call.wentBack = nil, nil, 0, false
	}
	if known.epoch != 0 && known.epoch != s.epoch {
		if r.Cluster { // the others learn of it by their next word, too: only this part has forgotten
			_ = r.client.Set(ctx, epochKey, "part "+strconv.FormatInt(s.epoch, 10), 0).Err()
		}
		o.mu.Lock()
		o.restored = r.Now()
		o.mu.Unlock()
	}
	o.adopt(&s)
	return nil
}

// puttingBack is what one call of restore.lua puts back.
type puttingBack struct {
	Loss
	wentBack bool // Redis's memory is not what this process knew
	known    witness
	counts   []count
	number   int64 // of the call, for rows
	rows     []SetAside
	holds    []ownHold
	last     bool
}

// mayBeLost is how sure it is that a team without accounts has lost them: 1 whatever there is, 2 where there is nothing at all.
func (m *Loss) mayBeLost() int {
	switch {
	case m.Lately:
		return 1
	case m.Listed:
		return 2
	}
	return 0
}

// restoreSome makes one call. What is held again was taken from none of the rates that there are now.
func (r *Store) restoreSome(ctx context.Context, team string, n *puttingBack) (standing, error) {
	t := r.teams.Get(team)
	keys := append(make([]any, 0, 3+len(n.holds)), t.quota, t.open, t.aside)
	for _, h := range n.holds {
		keys = append(keys, t.hold+h.ID)
	}
	alive := int64(1)
	if r.Peer.Alive != nil {
		alive = r.Peer.Alive()
	}
	c := r.begin(restoreScript, keys, 12+2*len(n.counts)+2*len(n.rows)+3*len(n.holds))
	c.add(n.known.epoch, n.known.seq, flag(n.wentBack), n.mayBeLost(), r.Peer.ID, alive, n.number, t.ledger,
		flag(n.last), r.Peer.Lease.Microseconds(), len(n.counts), len(n.rows))
	for _, u := range n.counts {
		c.add(strconv.Itoa(u.period)+":"+string(teams.Units[u.unit]), u.n)
	}
	for _, row := range n.rows {
		c.add(row.Day, writtenStock(row.Of))
	}
	for _, h := range n.holds {
		if h.due.IsZero() {
			c.add(h.ID, flag(h.Task)-1, "") // 0: also where it is not there
		} else {
			c.add(h.ID, h.due.UnixMicro(), heldText(h.Held, 0))
		}
	}
	r.send(ctx, c)
	s, _, err := r.standing(c, 0)
	return s, err
}
