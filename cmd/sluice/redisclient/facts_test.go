package redisclient

import (
	"testing"
	"time"
)

// Redis's facts are read, also from a server that hides some; of several nodes the worst value counts.
func TestFacts(t *testing.T) {
	keeps := Facts{EvictionPolicy: "noeviction", MaxMemory: 100, appends: true}
	for info, want := range map[string]Facts{
		"maxmemory:100\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\nrdb_last_bgsave_time_sec:-1\r\n": keeps,
		"maxmemory_policy:allkeys-lru\r\n": {EvictionPolicy: "allkeys-lru", hidden: true},
		"uptime_in_seconds:60\r\nmaxmemory_policy:noeviction\r\naof_enabled:0\r\nrdb_last_bgsave_time_sec:-1": {EvictionPolicy: "noeviction", Uptime: time.Minute},
		"maxmemory_policy:noeviction\r\naof_enabled:0\r\nrdb_last_bgsave_time_sec:3":                          {EvictionPolicy: "noeviction", snapshots: true},
		"maxmemory_policy:noeviction\r\naof_enabled:0\r\nrdb_last_load_keys_loaded:7":                         {EvictionPolicy: "noeviction", snapshots: true},
	} {
		if got := readFacts(info); got != want {
			t.Errorf("%q: %+v, want %+v", info, got, want)
		}
	}
	evicts := Facts{EvictionPolicy: "volatile-lru", MaxMemory: 50}
	for _, got := range []Facts{keeps.with(evicts), evicts.with(keeps)} {
		if got.EvictionPolicy != "volatile-lru" || got.MaxMemory != 150 || !got.Forgets() {
			t.Errorf("together they are %+v", got)
		}
	}
	if got := keeps.with(Facts{EvictionPolicy: noEviction, snapshots: true}); got.Forgets() || got.MaxMemory != 0 {
		t.Errorf("together they are %+v", got)
	}
}
