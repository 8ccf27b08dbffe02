package outbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/policy/event"
)

// What is new of several owners is read with one call, in order, and each owner's newest is known.
func TestNewsOfSeveralOwners(t *testing.T) {
	forms(t, func(f *form) {
		if id, err := f.streams.Last(f.Context(), "search"); err != nil || id != (event.ID{Owner: "search"}) {
			t.Error(id, err)
		}
		var ids []event.ID
		for n := range 5 {
			ids = append(ids, f.write("search", fmt.Sprint(n)))
		}
		shop := f.write("shop", "9")
		if id, err := f.streams.Last(f.Context(), "search"); err != nil || id != ids[4] {
			t.Error(id, err)
		}
		all, err := f.streams.News(f.Context(), []event.ID{{Owner: "search"}, shop, ids[1], {Owner: "none"}, {Owner: "shop"}}, 3)
		var got []string
		for _, list := range all {
			text := ""
			for _, e := range list {
				text += e.Team + string(e.Data)
			}
			got = append(got, text)
		}
		if want := []string{"search0search1search2", "", "search2search3search4", "", "shop9"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v", got, err)
		}
		if e := all[0][1]; e.ID != ids[1] || e.Type != event.TaskSucceeded || !e.Time.Equal(ids[1].Time()) {
			t.Errorf("%+v", e)
		}
	})
}

// An id that the outbox does not have is gone, whatever was written before and behind it.
func TestAForeignPlaceIsGone(t *testing.T) {
	forms(t, func(f *form) {
		first := f.write("search", "1")
		f.clock.Move(time.Minute)
		f.write("search", "2")
		for _, off := range []time.Duration{-time.Minute, time.Second, time.Hour / 2} {
			foreign := first
			foreign.Millis += off.Milliseconds()
			list, gone, err := f.After(f.Context(), foreign, 9)
			if want := map[bool]int{true: 2, false: 1}[off < 0]; err != nil || !gone || off < time.Minute && len(list) != want {
				t.Error(off, list, gone, err)
			}
		}
	})
}

// The owners whose events are streamed are known to all for an event's life after the last stream. Who knows the list gets it again only if
// it has changed.
func TestFollowedOwners(t *testing.T) {
	forms(t, func(f *form) {
		known := int64(0)
		follow := func(want string, added int, owners ...string) {
			t.Helper()
			before := known
			got, err := f.streams.Follow(f.Context(), owners, known)
			slices.Sort(got.Owners)
			if list := strings.Join(got.Owners, " "); err != nil || list != want || got.Added != added ||
				(got.Owners != nil) != (got.Version != before) {
				t.Fatalf("%+v %v, want %q", got, err, want)
			}
			known = got.Version
		}
		follow("", 0)
		follow("search", 1, "search")
		follow("", 0)
		follow("", 0, "search")
		follow("search shop", 1, "search", "shop")
		f.clock.Move(bounds.Keep - time.Minute)
		follow("", 0, "shop")
		f.clock.Move(2 * time.Minute)
		follow("shop", 0)
		follow("shop team", 1, "team")
		known--
		follow("shop team", 0)
		f.clock.Move(bounds.Keep + time.Minute)
		follow("", 0)
	})
}
