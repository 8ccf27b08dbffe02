package echo

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestReadsTheTrial(t *testing.T) {
	for query, want := range map[string]trial{
		"": {}, "silence=1": {silence: time.Second}, "silence=120": {silence: Longest}, "drop=a%20b": {drop: "a b"},
		"count=" + strings.Repeat("a", 64): {count: strings.Repeat("a", 64)},
	} {
		if got, err := read(query); err != nil || got != want {
			t.Errorf("%q: %+v, %v", query, got, err)
		}
	}
	for _, query := range []string{"silence=0", "silence=121", "silence=-1", "silence=", "silence", "drop=", "drop=a&drop=b",
		"drop=a&count=a", "count=" + strings.Repeat("a", 65), "colour=red", "drop=%zz", "a;b"} {
		if got, err := read(query); !errors.Is(err, ErrQuery) {
			t.Errorf("%q: %+v, %v", query, got, err)
		}
	}
}

func TestATeamHasFewTrialsAtATime(t *testing.T) {
	trials := New()
	for range PerTeam {
		if !trials.enter("search") {
			t.Fatal("refused within the bound")
		}
	}
	if trials.enter("search") || !trials.enter("shop") {
		t.Error("the bound is not each team's own")
	}
	trials.leave("search")
	if !trials.enter("search") {
		t.Error("a trial that has ended still counts")
	}
	for range PerTeam {
		trials.leave("search")
	}
	if trials.leave("shop"); len(trials.running) != 0 {
		t.Errorf("teams without trials are kept: %v", trials.running)
	}
}

func TestArrivalsAreCountedByTeam(t *testing.T) {
	trials := New()
	trials.note("search", "a")
	trials.note("search", "a")
	trials.note("shop", "a")
	if trials.arrived("search", "a") != 2 || trials.arrived("shop", "a") != 1 || trials.arrived("shop", "b") != 0 {
		t.Errorf("%+v", trials.noted)
	}
	for i := range mostNoted {
		trials.note("shop", strconv.Itoa(i))
	}
	if trials.arrived("search", "a") != 0 || trials.arrived("shop", "255") != 1 || len(trials.noted) != mostNoted {
		t.Errorf("%d are kept, the oldest %d times", len(trials.noted), trials.arrived("search", "a"))
	}
}
