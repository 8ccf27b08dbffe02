package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

const (
	// restoreBatch is how many holds one call restores, so that it does not block Redis for long.
	restoreBatch = 200
	// restoreScopes is for how many scopes and days one call restores the use. A month may have 31,000, to be restored within a
	// second.
	restoreScopes = 500
	// RestoringTime is how long a team is restoring at most, as in restore.lua.
	RestoringTime = 2 * time.Second
)

// Peer is this process among the replicas. The zero Peer has no others and sets nothing aside.
type Peer struct {
	ID    string
	Alive func() int64            // replicas that may have something to restore
	Gap   func() (from, to int64) // the last time in which Redis was away for all replicas, in microseconds; 0: unknown
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
	Recent bool // the memory is new, and replaced another one
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
	call := restoration{Loss: m, wentBack: m.Recent && !r.Cluster && !again, known: known}
	if r.Peer.Aside != nil {
		call.number, call.rows = r.Peer.Aside(team)
	}
	var holds []ownHold
	var scopes []scopeUse
	if known.epoch != 0 { // else all that was charged is in the present accounts
		call.counts, holds, scopes = o.counts(), o.all(), o.scopes()
		if len(call.counts) > 0 {
			call.told = thresholds(r, team, o.own)
		}
		if len(call.counts)+len(holds) > 0 {
			if err := r.List(ctx, team); err != nil && !r.Cluster { // a replica that sweeps has to find the team
				return err
			}
		}
	}
	s, err := call.make(ctx, r, team, holds, scopes)
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

// restoring makes a call about a team's accounts. If the accounts that this process knows are lost, it restores them and repeats the
// call.
func (r *Store) restoring(ctx context.Context, team string, do func() error) (err error) {
	for range 3 { // other replicas restore too, each with its epoch
		if err = do(); !errors.Is(err, ErrNotDone) {
			return err
		}
		if err := r.Restore(ctx, team, Loss{}); err != nil {
			return fmt.Errorf("%w: %w", ErrNotDone, err)
		}
	}
	return err
}

// make makes as many calls as the holds and the scopes need. The first restores everything else.
func (n *restoration) make(ctx context.Context, r *Store, team string, holds []ownHold, scopes []scopeUse) (s versionedState, err error) {
	counts := n.counts
	for first := true; first || len(holds)+len(scopes) > 0; first = false {
		some, uses := min(restoreBatch, len(holds)), 0
		if some == len(holds) { // now no hold takes anything back any more: what it was charged too early
			n.counts, counts, uses = counts, nil, min(restoreScopes, len(scopes))
		}
		n.holds, n.scopes, n.last = holds[:some], scopes[:uses], some == len(holds) && uses == len(scopes)
		if s, err = r.restoreSome(ctx, team, n); err != nil {
			return s, err
		}
		holds, scopes = holds[some:], scopes[uses:]
		n.counts, n.told, n.rows, n.number, n.wentBack = nil, nil, nil, 0, false
	}
	return s, nil
}

// restoration is a call of restore.lua.
type restoration struct {
	Loss
	wentBack bool // Redis's memory is not what this process knew
	known    version
	counts   []count
	told     []thresholdArgs // that the counts reach
	number   int64           // of the call, for rows
	rows     []SetAside
	holds    []ownHold
	scopes   []scopeUse
	last     bool
}

// mayBeLost says of a team without accounts: 0 it is new, 1 they were lost, 2 they were lost if none of its keys is left.
func (m *Loss) mayBeLost() int {
	switch {
	case m.Recent:
		return 1
	case m.Listed:
		return 2
	}
	return 0
}

// restoreArgs are the arguments of restore.lua.
type restoreArgs struct {
	knownArgs
	WentBack bool            `json:"went_back"`
	Loss     int             `json:"loss"`
	Replica  string          `json:"replica"`
	Alive    int64           `json:"alive"`
	Call     int64           `json:"call"`
	Last     bool            `json:"last"`
	Lease    int64           `json:"lease"`
	Used     []usedArgs      `json:"used"`
	Told     []thresholdArgs `json:"told"`
	Scopes   []scopeArgs     `json:"scopes"`
	Rows     []asideArgs     `json:"rows"`
	Holds    []holdArgs      `json:"holds"`
}

type usedArgs struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

type scopeArgs struct {
	Kind string        `json:"kind"`
	Day  string        `json:"day"`
	Name string        `json:"name"`
	Used limit.Amounts `json:"used"`
}

// restoreSome makes one call. Restored holds were not taken from the present rates.
func (r *Store) restoreSome(ctx context.Context, team string, n *restoration) (versionedState, error) {
	args := restoreArgs{
		knownArgs: n.known.args(), WentBack: n.wentBack, Loss: n.mayBeLost(), Replica: r.Peer.ID, Alive: 1, Call: n.number, Last: n.last,
		Lease: r.Peer.Lease.Microseconds(), Used: []usedArgs{}, Told: append([]thresholdArgs{}, n.told...), Scopes: []scopeArgs{},
		Rows: []asideArgs{}, Holds: []holdArgs{},
	}
	if r.Peer.Alive != nil {
		args.Alive = r.Peer.Alive()
	}
	for _, u := range n.counts {
		args.Used = append(args.Used, usedArgs{strconv.Itoa(u.period) + ":" + string(unit.Names[u.unit]), u.n})
	}
	for _, s := range n.scopes {
		args.Scopes = append(args.Scopes, scopeArgs{innerKeys[s.kind], strconv.Itoa(s.day), s.name, s.used})
	}
	for _, row := range n.rows {
		args.Rows = append(args.Rows, asideArgs{Day: strconv.Itoa(row.Day), Keep: row.Of})
	}
	for _, h := range n.holds {
		hold := holdArgs{ID: h.ID, Due: int64(flag(h.Task)) - 1} // 0: remember it even if it is unknown
		if !h.due.IsZero() {
			hold.Due, hold.Text = h.due.UnixMicro(), heldText(h.Held, 0)
		}
		args.Holds = append(args.Holds, hold)
	}
	c := r.begin(restoreScript, args, r.teams.Get(team).key)
	c.noMoney = len(args.Used)+len(args.Scopes)+len(args.Rows)+len(args.Holds) == 0
	r.send(ctx, c)
	return r.readState(c, nil)
}

const checkBatch = 1000 // holds that one call reads

// CheckOwn finds out which of this process's open holds other replicas have settled. If the accounts are lost it restores what is
// known.
func (r *Store) CheckOwn(ctx context.Context, team string) error {
	o := r.teams.Get(team)
	known := o.version()
	if known.epoch == 0 {
		return nil
	}
	ids := o.ids()
	if len(ids) == 0 {
		o.swept(nil)
		return nil
	}
	pipe := r.client.Pipeline()
	var texts []*redis.SliceCmd
	for chunk := range slices.Chunk(ids, checkBatch) {
		keys := make([]string, len(chunk))
		for i, id := range chunk {
			keys[i] = o.hold + id
		}
		texts = append(texts, pipe.MGet(ctx, keys...))
	}
	epoch := pipe.HGet(ctx, o.quota, "epoch") // read last, so that the texts are of this epoch
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if n, _ := epoch.Int64(); n != known.epoch {
		return r.Restore(ctx, team, Loss{})
	}
	var ended []string
	for i, id := range ids {
		text, _ := texts[i/checkBatch].Val()[i%checkBatch].(string)
		if !strings.HasPrefix(text, "held ") {
			ended = append(ended, id)
		}
	}
	o.swept(ended)
	return nil
}

// lapse is how long an allowance stays set aside after its lease has ended: LAPSE of sweep.lua.
const lapse = time.Hour

// LostAside is what is set aside for a day at a lost replica.
type LostAside struct {
	Day  int // yyyymmdd
	Of   limit.Stock
	Back time.Time // when it is given back, by Redis's clock
}

// LostAsides returns what is set aside of a team at other replicas that have not renewed it since a moment of Redis's clock.
func (r *Store) LostAsides(ctx context.Context, team string, since time.Time) (list []LostAside, err error) {
	rows, err := r.client.HGetAll(ctx, r.teams.Get(team).aside).Result()
	for field, text := range rows {
		replica, day, _ := strings.Cut(field, ":")
		row, due, renewed, ok := readAside(text)
		if row.Day, _ = strconv.Atoi(day); ok && row.Day > 0 && replica != r.Peer.ID && renewed < since.UnixMicro() {
			row.Back = time.UnixMicro(due).Add(lapse)
			list = append(list, row)
		}
	}
	return list, err
}

// readAside reads an allowance's text: its state, amounts, the end of its lease, and when it was renewed. It reports false for one that
// was charged, and for a replica's last call.
func readAside(text string) (row LostAside, due, renewed int64, ok bool) {
	words := strings.Fields(text)
	if len(words) != len(row.Of)+3 || words[0] == "charged" {
		return row, 0, 0, false
	}
	numbers := make([]int64, len(words)-1)
	for i, word := range words[1:] {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return row, 0, 0, false
		}
		numbers[i] = n
	}
	copy(row.Of[:], numbers)
	return row, numbers[len(row.Of)], numbers[len(row.Of)+1], true
}
