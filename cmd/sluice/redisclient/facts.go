package redisclient

import (
	"bufio"
	"strconv"
	"strings"
	"time"
)

const noEviction = "noeviction"

// Facts tells how Redis keeps its data. It is read from INFO, because CONFIG is often forbidden.
type Facts struct {
	EvictionPolicy string
	MaxMemory      int64         // in bytes; 0: unbounded
	Uptime         time.Duration // zero: it does not say
	appends        bool          // to a file
	snapshots      bool          // it took one since its start, takes one, or began with one; INFO does not tell whether it will
	hidden         bool          // it says nothing about its persistence
}

func readFacts(info string) (f Facts) {
	said := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(info)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		said[name] = value
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(said[name], 10, 64)
		return n
	}
	f.EvictionPolicy, f.MaxMemory, f.appends = said["maxmemory_policy"], number("maxmemory"), number("aof_enabled") == 1
	f.hidden = said["aof_enabled"] == ""
	lasted, given := said["rdb_last_bgsave_time_sec"]
	f.snapshots = given && lasted != "-1" || number("rdb_saves") > 0 || number("rdb_bgsave_in_progress") > 0 || number("rdb_last_load_keys_loaded") > 0
	f.Uptime = time.Duration(number("uptime_in_seconds")) * time.Second
	return f
}

// with combines the facts of two nodes of a cluster: the worse of each, and the sum of their memory.
func (f Facts) with(other Facts) Facts {
	if f.EvictionPolicy == noEviction {
		f.EvictionPolicy = other.EvictionPolicy
	}
	if f.MaxMemory > 0 && other.MaxMemory > 0 {
		f.MaxMemory += other.MaxMemory
	} else {
		f.MaxMemory = 0
	}
	if other.Forgets() {
		f.appends, f.snapshots, f.hidden, f.Uptime = false, false, false, other.Uptime
	}
	return f
}

// Forgets reports whether nothing shows that the data outlives the server.
func (f Facts) Forgets() bool { return !f.appends && !f.snapshots && !f.hidden }
