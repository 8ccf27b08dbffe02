package outbox

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"sluice/policy/event"
)

// workLife is how long a work is kept: longer than the addresses of its pictures are valid, for which it is tried.
const workLife = 49 * time.Hour

// Works wait like deliveries, under names that no hook has: in scripts/write.lua, too.
var (
	worksOf = event.Address{Owner: event.Operators, Hook: "*works"}
	lateOf  = event.Address{Owner: event.Operators, Hook: "*late"} // those whose success is told unless they end before
)

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

func writtenOf(w *event.Work) *written {
	if w == nil {
		return nil
	}
	of := &written{w.Task, textOf(w), dayOf(w.Day), len(w.Pictures), 0, workLife.Milliseconds(), event.SuccessesKept.Milliseconds()}
	if w.Told {
		of.Wait = event.HeldBack.Milliseconds()
	}
	return of
}

// dayOf is a day in a key.
func dayOf(day string) string { return strings.ReplaceAll(day, "/", "") }

func textOf(w *event.Work) string {
	text, _ := json.Marshal(w) // of texts and numbers
	return string(text)
}

// Works are those of an outbox. It is safe for concurrent use.
type Works struct {
	outbox *Outbox
	walks  walks
}

// WorksOf returns the works of an outbox.
func WorksOf(o *Outbox) *Works { return &Works{outbox: o, walks: walks{key: workWalkKey}} }

// TakeWork takes works that are due, at most so many: for [event.Lease] no other caller gets them.
func (w *Works) TakeWork(ctx context.Context, most int) ([]event.Work, error) {
	rooms := map[event.Address]int{worksOf: most, lateOf: most}
	if err := w.outbox.walk(ctx, &w.walks, rooms); err != nil {
		return nil, err
	}
	return w.takeOf(ctx, worksOf, most)
}

// LateWork takes works whose success waits for longer than it may, in the same way.
func (w *Works) LateWork(ctx context.Context, most int) ([]event.Work, error) {
	return w.takeOf(ctx, lateOf, most)
}

func (w *Works) takeOf(ctx context.Context, of event.Address, most int) (list []event.Work, err error) {
	if most <= 0 {
		return nil, nil
	}
	ends, owners, err := w.outbox.claim(ctx, map[event.Address]int{of: most})
	if err != nil || len(owners) == 0 {
		return nil, err
	}
	marks := []any{ends}
	for _, owner := range owners {
		next, failed := int64(0), error(nil) // without room it is left as it is, and due at once
		if most > len(list) {
			next, failed = w.takeOwners(ctx, owner.owner, of, most-len(list), &list)
		}
		if failed != nil { // the pause ends
			err = failed
			continue
		}
		marks = append(marks, pair(owner.owner, of), next)
	}
	_ = markedScript.Run(ctx, w.outbox.client, []string{indexKey}, marks...).Err() // the pause ends
	if len(list) > 0 {
		err = nil // the others are taken later
	}
	return list, err
}

// takeOwners takes works of an owner, and returns when the next is due, in ms; -1: none waits.
func (w *Works) takeOwners(ctx context.Context, owner string, of event.Address, most int, list *[]event.Work) (next int64, err error) {
	all, err := w.outbox.run(ctx, takeScript, eventsKey(owner), w.outbox.Clock(), event.Lease.Milliseconds(), most, nameOf(of))
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

// Worked records what came of a try, and reports whether the work was still kept.
func (w *Works) Worked(ctx context.Context, work *event.Work, p event.Progress) (known bool, err error) {
	args := struct {
		Task   string   `json:"task"`
		Work   string   `json:"work,omitempty"`
		Next   int64    `json:"next"` // ms
		Keep   int64    `json:"keep"` // ms
		Done   bool     `json:"done,omitempty"`
		Tell   *Written `json:"tell,omitempty"`
		Beside *Written `json:"beside,omitempty"`
	}{work.Task, "", p.Next.Milliseconds(), workLife.Milliseconds(), p.Done, w.outbox.Write(p.Tell), w.outbox.Write(p.Beside)}
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
