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
	WentBack bool // it is not what this process knew
	Lately   bool // it began a moment ago, and there was another one before
	Listed   bool // it names the team among those that ever asked
}

// Restore puts back what this process knows of a team whose accounts are gone: what it used, where the state knows less, what
// this process holds, and what was set aside for it. Nobody here asks for the team before all of it is there.
func (r *Store) Restore(ctx context.Context, team string, m Loss) error {
	o := r.own.Get(team)
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
	if known.epoch != 0 && r.Now().Sub(o.restored) < 2*RestoringTime {
		m.WentBack = false // that is over
	}
	o.mu.Unlock()
	call := puttingBack{Loss: m, known: known, counts: o.counts()}
	if r.Peer.Aside != nil {
		call.number, call.rows = r.Peer.Aside(team)
	}
	var holds []ownHold
	if known.epoch != 0 {
		holds = o.all()
		if err := r.List(ctx, team); err != nil && !r.Parted() { // who sweeps has to find it
			return err
		}
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
		call.counts, call.rows, call.number, call.fresh = nil, nil, 0, s.epoch
	}
	if known.epoch != 0 && known.epoch != s.epoch {
		r.lost.Add(1)
		if r.Parted() { // the others learn of it by their next word, too: only this part has forgotten
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
	known  witness
	fresh  int64 // the epoch that an earlier call of the same began; 0: this is the first
	counts []count
	number int64 // of the call, for rows
	rows   []SetAside
	holds  []ownHold
	last   bool
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
	k, number := r.keysOf(team), newNumber()
	call := append(restoreScript.call(3+len(n.holds), 14+2*len(n.counts)+2*len(n.rows)+3*len(n.holds)), k.quota, k.open, k.aside)
	for _, h := range n.holds {
		call = append(call, k.hold+h.ID)
	}
	alive := int64(1)
	if r.Peer.Alive != nil {
		alive = r.Peer.Alive()
	}
	went := n.WentBack && n.fresh == 0
	call = append(call, r.Clock(), number, n.known.epoch, n.known.seq, flag(went), n.mayBeLost(), r.Peer.ID, alive, n.number, k.ledger,
		flag(n.last), r.Peer.Lease.Microseconds(), len(n.counts), len(n.rows))
	for _, c := range n.counts {
		call = append(call, strconv.Itoa(c.period)+":"+string(teams.Units[c.unit]), c.n)
	}
	for _, row := range n.rows {
		call = append(call, row.Day, writtenStock(row.Of))
	}
	for _, h := range n.holds {
		if h.due.IsZero() {
			call = append(call, h.ID, flag(h.Task)-1, "") // 0: also where it is not there
		} else {
			call = append(call, h.ID, h.due.UnixMicro(), heldText(h.Held, 0))
		}
	}
	reply, err := restoreScript.run(ctx, r.client, call)
	s, _, err := readStanding(number, reply, err, 0)
	return s, err
}
