package feed

import (
	"context"
	"slices"
	"sort"

	"sluice/policy/event"
)

const (
	batch  = 32 // events that are read at a time
	recent = 64 // events of a team that are kept here, each of at most 16 KB
)

// topic has the events of one team with streams here. The Feed's lock guards it.
type topic struct {
	team    string
	streams int
	noted   bool          // in the outbox, as followed
	turn    chan struct{} // has a token for the one stream that may read the outbox for itself

	known  bool          // tail is known; otherwise it is read next
	doubt  bool          // the outbox was away: it may have lost events
	losses int           // how often it has lost events
	tail   event.ID      // the newest event that was read, or had been written before
	before event.ID      // the place before the first of list
	list   []event.Event // the newest, the oldest first. What it refers to never changes
	news   chan struct{} // closed when there is more to see
}

func newTopic(team string) *topic {
	t := &topic{team: team, turn: make(chan struct{}, 1), news: make(chan struct{})}
	t.turn <- struct{}{}
	return t
}

// wake makes the streams look.
func (t *topic) wake() {
	close(t.news)
	t.news = make(chan struct{})
}

// begin follows the events after the newest one.
func (t *topic) begin(newest event.ID) {
	t.known, t.doubt, t.tail, t.before, t.list = true, false, newest, newest, nil
	t.wake()
}

// push adds the events that were read, and drops the oldest.
func (t *topic) push(list []event.Event) {
	if len(list) == 0 {
		return
	}
	t.list, t.tail = append(t.list, list...), list[len(list)-1].ID
	if more := len(t.list) - recent; more > 0 {
		t.before, t.list = t.list[more-1].ID, slices.Clone(t.list[more:])
	}
	t.wake()
}

// after returns the kept events after a place; missing: more come before them.
func (t *topic) after(place event.ID) (list []event.Event, missing bool) {
	if place.Before(t.before) {
		return nil, true
	}
	return t.list[sort.Search(len(t.list), func(i int) bool { return place.Before(t.list[i].ID) }):], false
}

// round is the topics of one look at the outbox.
type round struct{ fresh, doubtful, sure []*topic }

func (f *Feed) round() (r round, places []event.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.topics {
		switch {
		case !t.known:
			r.fresh = append(r.fresh, t)
		case t.doubt:
			r.doubtful = append(r.doubtful, t)
		default:
			r.sure, places = append(r.sure, t), append(places, t.tail)
		}
	}
	return r, places
}

// read reads new events, and reports whether there may be more. If the outbox is away, every topic is in doubt.
func (f *Feed) read(ctx context.Context) (more bool) {
	r, places := f.round()
	var all [][]event.Event
	more, err := f.settle(ctx, r)
	if err == nil && len(places) > 0 {
		all, err = f.outbox.News(ctx, places, batch)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		for _, t := range f.topics {
			t.doubt = true
		}
		return false
	}
	for i, list := range all {
		r.sure[i].push(list)
		more = more || len(list) == batch
	}
	return more
}

// settle finds where new topics begin, and what topics in doubt have missed; more: they may have missed more.
func (f *Feed) settle(ctx context.Context, r round) (more bool, err error) {
	for _, t := range r.doubtful {
		list, gone, err := f.outbox.After(ctx, t.tail, batch)
		if err != nil {
			return false, err
		}
		f.mu.Lock()
		if gone {
			t.losses++
			r.fresh = append(r.fresh, t)
		} else {
			t.doubt, more = false, more || len(list) == batch
			t.push(list)
		}
		f.mu.Unlock()
	}
	for _, t := range r.fresh {
		newest, err := f.outbox.Last(ctx, t.team)
		if err != nil {
			return false, err
		}
		f.mu.Lock()
		t.begin(newest)
		f.mu.Unlock()
	}
	return more, nil
}
