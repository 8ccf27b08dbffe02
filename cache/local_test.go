package cache

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// Of two answers that arrive in one process at the same time, the later state is kept in either order.
func TestNearKeepsTheLater(t *testing.T) {
	n, begun := newLocalCache(), time.Now()
	for i := range 5000 {
		task := fmt.Sprint(i)
		var keeping sync.WaitGroup
		for _, status := range []Status{Running, Succeeded} {
			keeping.Go(func() { n.merge(&Claim{Team: "s", Task: task, Answer: Answer{Status: status}, Fetched: begun}) })
		}
		keeping.Wait()
		if !n.get("s", task).Final() {
			t.Fatal("the end was overwritten by RUNNING")
		}
	}
}

// Of two answers with the same state, the one heard later is kept, by the number that Redis gives it if there is one. A
// read changes nothing, and this process's own counts go on.
func TestNearKeepsTheLaterOfOneState(t *testing.T) {
	now := time.Now()
	claim := func(body string, fetched int64, after time.Duration) *Claim {
		return &Claim{Team: "s", Task: "t", Answer: Answer{Status: Running}, Body: []byte(body), Counts: new(PollCounts), fetched: fetched, Fetched: now.Add(after)}
	}
	for _, c := range []struct {
		name          string
		first, second *Claim
		kept          string
	}{
		{"read later", claim("a", 0, 0), claim("b", 0, 1), "b"},
		{"read before", claim("a", 0, 1), claim("b", 0, 0), "a"},
		{"the same, read again", claim("a", 7, 1), claim("b", 7, 0), "b"},
		{"stored before, read later", claim("a", 8, 0), claim("b", 7, 1), "a"},
		{"stored later, read before", claim("a", 7, 1), claim("b", 8, 0), "b"},
	} {
		n := newLocalCache()
		n.merge(c.first)
		c.first.Counts.Serve()
		merged := n.merge(c.second)
		got := n.get("s", "t")
		if string(got.Body) != c.kept || merged != got {
			t.Errorf("%s: %s is kept, want %s", c.name, got.Body, c.kept)
		}
		if served, _ := got.Polls(); served != 1 {
			t.Errorf("%s: %d polls are counted, want 1", c.name, served)
		}
	}
}
