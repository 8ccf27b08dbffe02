package redisstore

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
)

const (
	epochKey    = schema + "epoch"    // names the memory of this Redis; gone with it
	namesKey    = schema + "teams"    // every team that ever asked for something
	replicasKey = schema + "replicas" // when each was last heard of
)

const (
	AliveFor = 30 * time.Second // after its last word a replica counts no more
	BeatGap  = 3 * time.Second  // with no word of any replica for longer, Redis may have been away
)

// Beat is what Redis tells of its memory and of the replicas.
type Beat struct {
	Memory string    // the name of Redis's memory, which it gets where it has none
	Run    string    // the name of Redis's process: another one may have read an older copy; empty: it does not tell
	At     time.Time // by Redis's clock
	Alive  int64     // replicas that are heard of
	Gap    [2]int64  // the last time in which no replica reached Redis, in microseconds; zero: none that some replica lived through
	Back   bool      // Redis knows less of this replica than it did
}

// Beat tells Redis that this process is alive, of which it last heard at a moment that it told then; zero: never.
func (r *Store) Beat(ctx context.Context, last time.Time) (b Beat, err error) {
	pipe := r.client.Pipeline()
	pipe.SetNX(ctx, epochKey, rand.Text(), 0)
	got := pipe.Get(ctx, epochKey)
	told := int64(0)
	if !last.IsZero() {
		told = last.UnixMicro()
	}
	c := r.begin(replicasScript, []any{replicasKey}, 5).add(r.Peer.ID, told, BeatGap.Microseconds(), AliveFor.Microseconds(), limit.LateTruth.Microseconds())
	c.reply = redis.NewIntSliceCmd(ctx, c.args...)
	_ = pipe.Process(ctx, c.reply) // it is only queued
	info := pipe.Info(ctx, "server")
	_, failed := pipe.Exec(ctx) // each command has its error, and what INFO says may be forbidden
	r.finish(ctx, c, failed)
	if err := got.Err(); err != nil {
		return b, err
	}
	in, err := r.said(c, 5)
	if err != nil {
		return b, err
	}
	_, run, _ := strings.Cut(info.Val(), "run_id:")
	run, _, _ = strings.Cut(run, "\r")
	return Beat{Memory: got.Val(), Run: run, At: time.UnixMicro(in[0]).UTC(), Alive: in[1], Back: in[2] == 1, Gap: [2]int64(in[3:])}, nil
}

// List lists teams as ones that were seen.
func (r *Store) List(ctx context.Context, teams ...string) error {
	return r.client.SAdd(ctx, namesKey, teams).Err()
}

// Teams lists every team that was ever seen.
func (r *Store) Teams(ctx context.Context) ([]string, error) {
	return r.client.SMembers(ctx, namesKey).Result()
}
