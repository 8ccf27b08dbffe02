package outbox

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/event"
)

var (
	takeScript       = newScript("head", "take_work")
	workedScript     = newScript("head", "tries", "write", "worked")
	workOwnersScript = newScript("head", "work_owners")
	workMarkedScript = newScript("head", "work_marked")
)

const (
	// picturesLife is longer than the addresses of pictures are valid.
	picturesLife = 49 * time.Hour
	// workOwners is how many owners' works a call reads: each takes a script.
	workOwners = 64

	workWalkKey = schema + "works:walk"
	worksDue    = "works:due"
	worksLate   = "works:late"
)

// workIndex is the key of the owners by when their first work is due; there is one for each of the two times of works.
func workIndex(end string) string { return schema + end }

// markWorks notes that an owner has works. It may fail: the walk finds them.
func markWorks(ctx context.Context, client redis.UniversalClient, owner string) {
	for _, end := range []string{worksDue, worksLate} {
		_ = client.ZAddLT(ctx, workIndex(end), redis.Z{Member: owner}).Err() // 0: now
	}
}

// workLife is how long a work is kept after it was last tried: as long as its event would be if it were not held back, because no replica
// may run meanwhile, and longer than the addresses of its pictures are valid.
func (o *store) workLife() time.Duration { return max(picturesLife, o.bounds.Keep) + event.HeldBack }

// written is a work in the arguments of a script.
type written struct {
	Task     string `json:"task"`
	Text     string `json:"text"`
	Day      string `json:"day"`
	Pictures int    `json:"pictures"`
	Wait     int64  `json:"wait"` // ms
	Keep     int64  `json:"keep"` // ms
	Remember int64  `json:"remember"`
}

func (o *store) writtenOf(w *event.Work) *written {
	if w == nil {
		return nil
	}
	return &written{
		w.Task, textOf(w), dayOf(w.Day), len(w.Pictures), event.HeldBack.Milliseconds(), o.workLife().Milliseconds(),
		event.SuccessesKept.Milliseconds(),
	}
}

// dayOf is a day in a key.
func dayOf(day string) string { return strings.ReplaceAll(day, "/", "") }

func textOf(w *event.Work) string {
	text, _ := json.Marshal(w) // of texts and numbers
	return string(text)
}

// Works are the works of an outbox. They are safe for concurrent use.
type Works struct {
	outbox *Outbox
	walked atomic.Pointer[time.Time] // when this process last knew that some replica walks; nil: never
}

// WorksOf returns the works of an outbox.
func WorksOf(o *Outbox) *Works { return &Works{outbox: o} }

// TakeWork takes works that are due, at most so many: for [event.Lease] no other caller gets them.
func (w *Works) TakeWork(ctx context.Context, most int) ([]event.Work, error) {
	if err := w.walk(ctx); err != nil {
		return nil, err
	}
	return w.takeOf(ctx, worksDue, most)
}

// LateWork takes, in the same way, works whose success has waited for longer than it may.
func (w *Works) LateWork(ctx context.Context, most int) ([]event.Work, error) {
	return w.takeOf(ctx, worksLate, most)
}

// takeOf takes works that are due by one of their times. While none is due it makes one call of Redis.
func (w *Works) takeOf(ctx context.Context, end string, most int) (list []event.Work, err error) {
	if most <= 0 {
		return nil, nil
	}
	o := w.outbox
	all, err := o.run(ctx, workOwnersScript, workIndex(end), o.Clock(), pause.Milliseconds(), min(most, workOwners))
	if err != nil || len(all) < 2 {
		return nil, err
	}
	in := reply{rest: all}
	marks := []any{o.Clock(), in.number()}
	for len(in.rest) > 0 && in.err == nil {
		owner, next := in.text(), int64(0) // without room it is due immediately
		if most > len(list) {
			var failed error
			if next, failed = w.takeOwner(ctx, owner, end, most-len(list), &list); failed != nil { // the pause ends
				err = failed
				continue
			}
		}
		marks = append(marks, owner, next)
	}
	_ = workMarkedScript.Run(ctx, o.client, []string{workIndex(end)}, marks...).Err() // the pause ends
	if len(list) > 0 {
		err = nil // the others are taken later
	}
	return list, err
}

// takeOwner takes works of an owner, and returns when the next is due, in ms; -1: none waits.
func (w *Works) takeOwner(ctx context.Context, owner, end string, most int, list *[]event.Work) (next int64, err error) {
	all, err := w.outbox.run(ctx, takeScript, eventsKey(owner), w.outbox.Clock(), event.Lease.Milliseconds(), most, end)
	if err != nil {
		return 0, err
	}
	in := reply{rest: all}
	for next = in.number(); len(in.rest) > 0 && in.err == nil; {
		work := event.Work{Team: owner}
		if json.Unmarshal([]byte(in.text()), &work) != nil {
			in.fail("no work")
			break
		}
		*list = append(*list, work)
	}
	return next, in.err
}

// walk searches all owners for works that the indexes lack, unless some replica has done so recently.
func (w *Works) walk(ctx context.Context) error {
	if last := w.walked.Load(); last != nil && time.Since(*last) < walkEvery {
		return nil
	}
	now, client := time.Now(), w.outbox.client
	first, err := client.SetNX(ctx, workWalkKey, 1, walkEvery).Result()
	if err == nil {
		w.walked.Store(&now)
	}
	if err != nil || !first {
		return err
	}
	owners, err := client.SMembers(ctx, teamsKey).Result()
	for batch := range slices.Chunk(owners, walkBatch) {
		for _, end := range []string{worksDue, worksLate} {
			if failed := w.look(ctx, batch, end); failed != nil {
				err = failed
			}
		}
	}
	return err
}

// look notes when the first works of owners are due by one of their times.
func (w *Works) look(ctx context.Context, owners []string, end string) error {
	pipe, heads := w.outbox.client.Pipeline(), make([]*redis.ZSliceCmd, len(owners))
	for i, owner := range owners {
		heads[i] = pipe.ZRangeWithScores(ctx, keyOf(owner, end), 0, 0)
	}
	_, err := pipe.Exec(ctx)
	var due []redis.Z
	for i, head := range heads {
		for _, z := range head.Val() {
			due = append(due, redis.Z{Score: z.Score, Member: owners[i]})
		}
	}
	if len(due) > 0 && err == nil {
		err = w.outbox.client.ZAddLT(ctx, workIndex(end), due...).Err()
	}
	return err
}

// Worked records the outcome of a try, and reports whether the work was still kept.
func (w *Works) Worked(ctx context.Context, work *event.Work, p event.Progress) (known bool, err error) {
	args := struct {
		Task     string   `json:"task"`
		Work     string   `json:"work,omitempty"`
		Next     int64    `json:"next"` // ms
		Keep     int64    `json:"keep"` // ms
		Done     bool     `json:"done,omitempty"`
		Released bool     `json:"released,omitempty"`
		Tell     *Written `json:"tell,omitempty"`
		Beside   *Written `json:"beside,omitempty"`
		Stored   int      `json:"stored"`
	}{
		work.Task, "", p.Next.Milliseconds(), w.outbox.workLife().Milliseconds(), p.Done, p.Released, w.outbox.Write(p.Tell),
		w.outbox.Write(p.Beside), p.Stored,
	}
	if p.Keep {
		args.Work = textOf(work)
	}
	text, err := json.Marshal(args)
	if err != nil {
		return false, err
	}
	list, err := w.outbox.run(ctx, workedScript, eventsKey(work.Team), w.outbox.Clock(), text)
	if err != nil {
		return false, err
	}
	in := reply{rest: list}
	known = in.number() == 1
	wrote := []*event.Draft{nil, p.Tell, p.Beside}[in.number()%3]
	if displaced := in.number(); wrote != nil && in.err == nil {
		w.outbox.Wrote(ctx, displaced, wrote)
	}
	if at := in.number(); at > 0 && p.Next < event.Lease { // the index has the lease's end
		// a look after the lease finds it
		_ = w.outbox.client.ZAddLT(ctx, workIndex(worksDue), redis.Z{Score: float64(at), Member: work.Team}).Err()
	}
	return known, in.err
}

// Succeeded returns the tasks of a team that succeeded on a day, written as in "2026/11/26".
func (w *Works) Succeeded(ctx context.Context, team, day string) (event.Successes, error) {
	all, err := w.outbox.client.HGetAll(ctx, keyOf(team, "succeeded:"+dayOf(day))).Result()
	list := event.Successes{}
	for task, pictures := range all {
		list[task], _ = strconv.Atoi(pictures) // as written
	}
	return list, err
}
