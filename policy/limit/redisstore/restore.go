package redisstore

import (
	"context"
	"strconv"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

const (
	// restoreBatch is how many holds one call restores, so that it does not block Redis for long.
	restoreBatch = 200
	// restoreTags is how many values of a tag one call restores. A month may have 31,000, which have to be there within a second.
	restoreTags = 500
	// RestoringTime is how long a team is restoring at most. restore.lua has it, too.
	RestoringTime = 2 * time.Second
)

// Peer is this process among the replicas. The zero Peer is alone and sets nothing aside.
type Peer struct {
	ID    string
	Alive func() int64            // replicas that may have something to restore
	Gap   func() (from, to int64) // the last time in which Redis was away for all, in microseconds; 0: not known
	Lease time.Duration
	Aside func(team string) (call int64, rows []SetAside) // what the process may spend of a team, or has spent without Redis
}

// SetAside is the amount that Redis has to set aside for a day.
type SetAside struct {
	Day int
	Of  limit.Stock
}

// Loss is a replica's knowledge of a loss of Redis's memory.
type Loss struct {
	Lately bool // the memory is new, and there was another one before
	Listed bool // the team is in the list of those that ever sent a request
}

// Restore restores what this process knows of a team whose accounts are lost: what was used, if Redis knows less, this process's
// open holds, and what was set aside for it. Calls about the team wait for it.
func (r *Store) Restore(ctx context.Context, team string, m Loss) error {
	o := r.teams.Get(team)
	before := o.version().epoch
	if err := o.restoring.Acquire(ctx, 1); err != nil { // a request waits for this no longer than for Redis
		return err
	}
	defer o.restoring.Release(1)
	known := o.version()
	if known.epoch != before { // another call has done it
		return nil
	}
	o.mu.Lock()
	again := known.epoch != 0 && r.Now().Sub(o.restored) < 2*RestoringTime // the data lost then has been restored
	o.mu.Unlock()
	call := restoration{Loss: m, wentBack: m.Lately && !r.Cluster && !again, known: known}
	if r.Peer.Aside != nil {
		call.number, call.rows = r.Peer.Aside(team)
	}
	var holds []ownHold
	var tags []tagCount
	if known.epoch != 0 { // else what was charged is in the accounts that there are now
		call.counts, holds, tags = o.counts(), o.all(), o.tagCounts()
		if err := r.List(ctx, team); err != nil && !r.Cluster { // a replica that sweeps has to find the team
			return err
		}
	}
	s, err := call.make(ctx, r, team, holds, tags)
	if err != nil {
		return err
	}
	if known.epoch != 0 && known.epoch != s.epoch {
		if r.Cluster { // so that the other replicas see that this part lost its memory
			_ = r.client.Set(ctx, epochKey, "part "+strconv.FormatInt(s.epoch, 10), 0).Err()
		}
		o.mu.Lock()
		o.restored = r.Now()
		o.mu.Unlock()
	}
	o.recordRestored(&s)
	return nil
}

// make makes as many calls as the holds and the tags take. The first restores everything else.
func (n *restoration) make(ctx context.Context, r *Store, team string, holds []ownHold, tags []tagCount) (s standing, err error) {
	for first := true; first || len(holds)+len(tags) > 0; first = false {
		some, values := min(restoreBatch, len(holds)), min(restoreTags, len(tags))
		n.holds, n.tags, n.last = holds[:some], tags[:values], some == len(holds) && values == len(tags)
		if s, err = r.restoreSome(ctx, team, n); err != nil {
			return s, err
		}
		holds, tags = holds[some:], tags[values:]
		n.counts, n.rows, n.number, n.wentBack = nil, nil, 0, false
	}
	return s, nil
}

// restoration is a call of restore.lua.
type restoration struct {
	Loss
	wentBack bool // Redis's memory is not what this process knew
	known    version
	counts   []count
	number   int64 // of the call, for rows
	rows     []SetAside
	holds    []ownHold
	tags     []tagCount
	last     bool
}

// mayBeLost is for a team without accounts: 0 it is new, 1 they were lost, 2 they were lost if none of its keys is left.
func (m *Loss) mayBeLost() int {
	switch {
	case m.Lately:
		return 1
	case m.Listed:
		return 2
	}
	return 0
}

// restoreSome makes one call. Restored holds were not taken from the present rates.
func (r *Store) restoreSome(ctx context.Context, team string, n *restoration) (standing, error) {
	t := r.teams.Get(team)
	keys := append(make([]any, 0, 3+len(n.holds)), t.quota, t.open, t.aside)
	for _, h := range n.holds {
		keys = append(keys, t.hold+h.ID)
	}
	alive := int64(1)
	if r.Peer.Alive != nil {
		alive = r.Peer.Alive()
	}
	c := r.begin(restoreScript, keys, 12+2*len(n.counts)+2*len(n.tags)+2*len(n.rows)+3*len(n.holds))
	c.add(n.known.epoch, n.known.seq, flag(n.wentBack), n.mayBeLost(), r.Peer.ID, alive, n.number, t.ledger,
		flag(n.last), r.Peer.Lease.Microseconds(), len(n.counts)+len(n.tags), len(n.rows))
	for _, u := range n.counts {
		c.add(strconv.Itoa(u.period)+":"+string(teams.Units[u.unit]), u.n)
	}
	for i := range n.tags {
		c.add(n.tags[i].name(), written(n.tags[i].used))
	}
	for _, row := range n.rows {
		c.add(row.Day, writtenStock(row.Of))
	}
	for _, h := range n.holds {
		if h.due.IsZero() {
			c.add(h.ID, flag(h.Task)-1, "") // 0: remember it even if it is unknown
		} else {
			c.add(h.ID, h.due.UnixMicro(), heldText(h.Held, 0))
		}
	}
	r.send(ctx, c)
	s, _, err := r.standing(c, 0)
	return s, err
}
