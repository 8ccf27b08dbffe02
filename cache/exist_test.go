package cache_test

import (
	"maps"
	"testing"

	"sluice/cache"
)

// Which tasks are a team's is told without reading them, and what this process knows without a call: another replica's tasks exist and
// are not known here until they are read. Another team's do not exist.
func TestTasksThatExistAndThoseKnownHere(t *testing.T) {
	address := realRedis(t)
	one, other := open(t, "unix", address), open(t, "unix", address)
	if !one.Put(t.Context(), cache.Claim{Team: "search", Task: "t1", Answer: cache.Answer{Task: "t1", Status: cache.Succeeded}, Body: []byte("{}")}) {
		t.Fatal("the task is another team's")
	}
	tasks := []string{"none", "t1"}
	for team, want := range map[string]bool{"search": true, "shop": false} {
		exist, err := other.Exist(t.Context(), team, tasks)
		if err != nil || !maps.Equal(exist, map[string]bool{"t1": want, "none": false}) {
			t.Errorf("%s has %v %v", team, exist, err)
		}
	}
	here := func(r *cache.Redis, known, serves bool) {
		t.Helper()
		if k, s := r.Here("search", "t1"); k != known || s != serves {
			t.Errorf("known %v, serves %v, want %v, %v", k, s, known, serves)
		}
	}
	here(one, true, true)
	here(other, false, false)
	if _, ok, err := other.Get(t.Context(), "search", "t1"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	here(other, true, true)
}

// A task that Redis may have lost is not denied, because what replicas know of it may not be written back yet. Nor are tasks denied for
// it that Redis has.
func TestTasksThatRedisMayHaveLostCountAsTheTeams(t *testing.T) {
	overRedis(t, func(t *testing.T, replica func() *replica, flush func()) {
		one, other := replica(), replica()
		put := func(task string) {
			one.Put(t.Context(), cache.Claim{Team: "search", Task: task, Answer: cache.Answer{Task: task, Status: cache.Running}, Body: []byte("{}")})
		}
		put("t1")
		put("t2")
		if _, ok, err := other.Get(t.Context(), "search", "t2"); !ok || err != nil { // it knows the memory of the team
			t.Fatal(ok, err)
		}
		if exist, err := other.Exist(t.Context(), "search", []string{"t1", "none"}); err != nil || !maps.Equal(exist, map[string]bool{"t1": true, "none": false}) {
			t.Errorf("before the loss: %v, %v", exist, err)
		}
		flush()
		if exist, err := other.Exist(t.Context(), "search", []string{"t1", "none"}); err != nil || !maps.Equal(exist, map[string]bool{"t1": true, "none": true}) {
			t.Errorf("after the loss: %v, %v", exist, err)
		}
	})
}
