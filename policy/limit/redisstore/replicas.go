package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
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

// beat is what Redis tells of its memory and of the replicas.
type beat struct {
	Memory string    // the name of Redis's memory, which it gets where it has none
	Run    string    // the name of Redis's process: another one may have read an older copy; empty: it does not tell
	At     time.Time // by Redis's clock
	Alive  int64     // replicas that are heard of
	Gap    [2]int64  // the last time in which no replica reached Redis, in microseconds; zero: none that some replica lived through
	Back   bool      // Redis knows less of this replica than it did
}

// Beat tells Redis that a replica is alive, which Redis last heard of at a moment that it told, and adds teams to the list
// of those that were ever seen.
func (r *Store) Beat(ctx context.Context, replica string, last time.Time, teams []string) (b beat, err error) {
	pipe := r.client.Pipeline()
	pipe.SetNX(ctx, epochKey, rand.Text(), 0)
	got := pipe.Get(ctx, epochKey)
	if len(teams) > 0 {
		pipe.SAdd(ctx, namesKey, teams)
	}
	number, told := newNumber(), int64(0)
	if !last.IsZero() {
		told = last.UnixMicro()
	}
	call := append(replicasScript.call(1, 7), replicasKey, r.Clock(), number, replica, told, BeatGap.Microseconds(), AliveFor.Microseconds(), limit.LateTruth.Microseconds())
	cmd := redis.NewIntSliceCmd(ctx, call...)
	_ = pipe.Process(ctx, cmd) // it is only queued
	info := pipe.Info(ctx, "server")
	_, _ = pipe.Exec(ctx) // each command has its error, and what INFO says may be forbidden
	reply, err := numbers(cmd)
	if unknown(err) { // a pipeline does not send the script itself
		reply, err = replicasScript.send(ctx, r.client, call)
	}
	in, err := said(number, reply, errors.Join(got.Err(), err), 5)
	if err != nil {
		return b, err
	}
	_, run, _ := strings.Cut(info.Val(), "run_id:")
	run, _, _ = strings.Cut(run, "\r")
	return beat{Memory: got.Val(), Run: run, At: time.UnixMicro(in[0]).UTC(), Alive: in[1], Back: in[2] == 1, Gap: [2]int64(in[3:])}, nil
}

// List lists a team as one that was seen.
func (r *Store) List(ctx context.Context, team string) error {
	return r.client.SAdd(ctx, namesKey, team).Err()
}

// Teams lists every team that was ever seen.
func (r *Store) Teams(ctx context.Context) ([]string, error) {
	return r.client.SMembers(ctx, namesKey).Result()
}
