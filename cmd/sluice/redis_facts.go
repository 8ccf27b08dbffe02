package main

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/teams"
)

// redisFacts is what Redis says of how it keeps what it is told. It is read from INFO, because CONFIG is often forbidden.
type redisFacts struct {
	policy    string // eviction policy
	memory    int64  // maxmemory in bytes; 0: unbounded
	appends   bool   // to a file
	snapshots bool   // it took one since its start, takes one, or began with one; whether it is to is not in INFO
	hidden    bool   // it says nothing of its persistence
	up        time.Duration
}

func readRedisFacts(info string) (f redisFacts) {
	said := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(info)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		said[name] = value
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(said[name], 10, 64)
		return n
	}
	f.policy, f.memory, f.appends = said["maxmemory_policy"], number("maxmemory"), number("aof_enabled") == 1
	f.hidden = said["aof_enabled"] == ""
	lasted, told := said["rdb_last_bgsave_time_sec"]
	f.snapshots = told && lasted != "-1" || number("rdb_saves") > 0 || number("rdb_bgsave_in_progress") > 0 || number("rdb_last_load_keys_loaded") > 0
	f.up = time.Duration(number("uptime_in_seconds")) * time.Second
	return f
}

// with is what two nodes of a cluster say together: what is worse of either, and their memory.
func (f redisFacts) with(other redisFacts) redisFacts {
	if f.policy == noEviction {
		f.policy = other.policy
	}
	if f.memory > 0 && other.memory > 0 {
		f.memory += other.memory
	} else {
		f.memory = 0
	}
	if other.forgets() {
		f.appends, f.snapshots, f.hidden, f.up = false, false, false, other.up
	}
	return f
}

// forgets reports whether nothing shows that what it was told outlives it.
func (f redisFacts) forgets() bool { return !f.appends && !f.snapshots && !f.hidden }

// warnings lists what an operator should know of a Redis that is to keep so many bytes.
func (f redisFacts) warnings(need int64) (list []string) {
	if f.forgets() {
		list = append(list, fmt.Sprintf("Redis appends to no file and has taken no snapshot in the %s since its start: what teams used, hold and own is gone when it ends; "+
			"set appendonly yes with appendfsync everysec", f.up))
	}
	if f.memory > 0 && f.memory < need {
		list = append(list, fmt.Sprintf("maxmemory of Redis is %s, and the teams of the teams file may need %s: a Redis that is full is as good as away; "+
			"set maxmemory to more", byteSize(f.memory), byteSize(need)))
	}
	return list
}

// What a team takes of Redis's memory, in bytes, rounded up from what was measured.
const (
	ledgerBytes  = 400 << 10 // four hundred days of its ledger, three models each
	accountBytes = 8 << 10   // its rates, quotas and list of tasks
	settledBytes = 150       // a settled request's hold
)

// settledFor is how long that hold is kept.
const settledFor = 15 * time.Minute

// redisNeed is how many bytes the accounts of the teams may take, in whole MiB, where they use what their rates let them. Tasks are not
// in it: how many a team makes no rate tells.
func redisNeed(file *teams.File) (bytes int64) {
	for _, team := range file.List {
		bytes += ledgerBytes + accountBytes
		for _, r := range team.Rates {
			if r.Unit == teams.UnitRequests {
				bytes += int64(float64(r.Limit) * settledFor.Seconds() / r.Per.Seconds() * settledBytes)
			}
		}
	}
	return (bytes + 1<<20 - 1) >> 20 << 20
}

// askFacts asks Redis, each master of a cluster. known is false where it could not be asked, or does not say how it evicts.
func (c *state) askFacts(ctx context.Context) (facts redisFacts, known bool) {
	ctx, cancel := context.WithTimeout(ctx, max(c.timeout, time.Second))
	defer cancel()
	var mu sync.Mutex
	ask := func(ctx context.Context, node redis.Cmdable) error {
		text, err := node.Info(ctx).Result()
		if err != nil {
			return err
		}
		said := readRedisFacts(text)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case said.policy == "":
		case known:
			facts = facts.with(said)
		default:
			facts, known = said, true
		}
		return nil
	}
	if cluster, ok := c.UniversalClient.(*redis.ClusterClient); ok {
		_ = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return ask(ctx, node) })
	} else {
		_ = ask(ctx, c.UniversalClient)
	}
	return facts, known
}
