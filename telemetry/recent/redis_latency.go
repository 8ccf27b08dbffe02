package recent

import (
	"context"
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/telemetry/latency"
)

// latencyPrefix begins the keys of hours. All keys are in one slot.
const latencyPrefix = keyPrefix + "{" + keyPrefix + "latency}:"

func latencyKey(begins time.Time) string { return latencyPrefix + begins.UTC().Format(hourForm) }

var (
	//go:embed scripts/latencies.lua
	latenciesLua    string
	latenciesScript = redis.NewScript(latenciesLua)
)

// postLatencies posts the parts in order, so that their numbers arrive ascending.
func (r *Redis) postLatencies(ctx context.Context, p *Post) error {
	if len(p.Latencies) == 0 {
		return nil
	}
	pipe := r.client.Pipeline()
	cmds := make([]*redis.Cmd, len(p.Latencies))
	for i, part := range p.Latencies {
		args := []any{p.From, part.Number, Kept.Milliseconds()}
		for _, e := range part.Entries {
			args = append(args, e.field(), e.step, e.Pack(nil))
		}
		cmds[i] = latenciesScript.Eval(ctx, pipe, []string{latencyKey(part.Begins)}, args...) // a pipeline does not fall back from EVALSHA
	}
	_, err := pipe.Exec(ctx)
	for i, cmd := range cmds {
		p.Latencies[i].Stored = cmd.Err() == nil
	}
	return err
}

// Latencies returns the histograms of the steps that begin in [from, to), by name, kind and time, in one round trip. Empty ones are left
// out.
func (r *Redis) Latencies(ctx context.Context, by By, from, to time.Time) (list []Latency, err error) {
	pipe, all := r.client.Pipeline(), hours(from, to)
	cmds := make([]*redis.MapStringStringCmd, len(all))
	for i, begins := range all {
		cmds[i] = pipe.HGetAll(ctx, latencyKey(begins))
	}
	if len(all) > 0 {
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, err
		}
	}
	for i, begins := range all {
		for field, text := range cmds[i].Val() {
			s, ok := readSeries(field)
			if !ok || s.by != by {
				continue
			}
			steps, err := latency.Series([]byte(text))
			if err != nil { // perhaps a later version wrote it
				continue
			}
			list = s.appendTo(list, begins, steps, from, to)
		}
	}
	sortLatencies(list)
	return list, nil
}
