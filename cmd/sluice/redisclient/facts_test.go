package redisclient

import (
	"reflect"
	"testing"
	"time"
)

// Redis's facts are read, also from a server that hides some; of several nodes the worst value counts.
func TestFacts(t *testing.T) {
	keeps := Facts{EvictionPolicy: "noeviction", MaxMemory: 100, appends: true}
	for info, want := range map[string]Facts{
		"maxmemory:100\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\nrdb_last_bgsave_time_sec:-1\r\n": keeps,
		"maxmemory_policy:allkeys-lru\r\n": {EvictionPolicy: "allkeys-lru", hidden: true},
		"uptime_in_seconds:60\r\nmaxmemory_policy:noeviction\r\naof_enabled:0\r\nrdb_last_bgsave_time_sec:-1": {EvictionPolicy: "noeviction",
			Uptime: time.Minute},
		"maxmemory_policy:noeviction\r\naof_enabled:0\r\nrdb_last_bgsave_time_sec:3":  {EvictionPolicy: "noeviction", snapshots: true},
		"maxmemory_policy:noeviction\r\naof_enabled:0\r\nrdb_last_load_keys_loaded:7": {EvictionPolicy: "noeviction", snapshots: true},
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

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"redis://a":                      {hosts: []string{"a:6379"}},
		"rediss://a:7/3":                 {hosts: []string{"a:7"}, tls: true, db: 3},
		"redis://u%40:p%3A:q@a":          {hosts: []string{"a:6379"}, user: "u@", password: "p::q"},
		"redis://[::1]":                  {hosts: []string{"[::1]:6379"}},
		"redis+cluster://a,b:7":          {hosts: []string{"a:6379", "b:7"}, topology: cluster},
		"rediss+sentinel://a,b:7/main/2": {hosts: []string{"a:26379", "b:7"}, topology: sentinel, tls: true, master: "main", db: 2},
		"redis+sentinel://:p@a/main?sentinel=:q%2F": {hosts: []string{"a:26379"}, topology: sentinel, master: "main", password: "p",
			sentinelPassword: "q/"},
		"redis+sentinel://a/main/1?sentinel=u:q": {hosts: []string{"a:26379"}, topology: sentinel, master: "main", db: 1,
			sentinelUser: "u", sentinelPassword: "q"},
	} {
		if got, ok := ParseAddress(text); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "a:6379", "http://a", "redis://", "redis://a,b", "redis://a:x", "redis://u@a", "redis://a/x",
		"redis+cluster://a/1", "redis://a?sentinel=:q", "redis://a/1?sentinel=:q", "redis+sentinel://a/main?sentinel=q",
		"redis+sentinel://a/main?x=:q",
		"redis+sentinel://a", "redis://a/1001"} {
		if _, ok := ParseAddress(text); ok {
			t.Errorf("%q counts as an address", text)
		}
	}
}
