package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

// measureAll takes the measures in turn and prints their tables.
func measureAll(ctx context.Context, o options) error {
	w, err := build(ctx, o, slices.Contains(o.gateways, "sluice-redis") ||
		slices.ContainsFunc(o.measures, func(name string) bool { return strings.HasSuffix(name, "consoles") }))
	defer func() { w.end() }()
	if err != nil {
		return err
	}
	for _, m := range allMeasures {
		if !slices.Contains(o.measures, m.name) {
			continue
		}
		able := slices.DeleteFunc(slices.Clone(o.gateways), func(name string) bool { return slices.Contains(m.without, name) })
		names := slices.Concat(m.with, slices.DeleteFunc(able, func(name string) bool { return slices.Contains(m.with, name) }))
		all, err := take(ctx, w, m, names)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		printTable(os.Stdout, m, names, all)
	}
	return nil
}

// take gives every gateway a turn of a measure in each round. Each round begins with a different one.
func take(ctx context.Context, w *world, m measure, names []string) (results, error) {
	gateways := make([]*gateway, len(names))
	for i, name := range names {
		gateways[i] = newGateway(name, w.rate)
		if m.fresh {
			continue
		}
		if err := w.start(ctx, gateways[i]); err != nil {
			return nil, err
		}
		defer gateways[i].Stop()
	}
	all := results{}
	lock := &sharedLock{name: w.lock}
	defer lock.release()
	for round := range w.rounds {
		if err := lock.take(ctx); err != nil {
			return nil, err
		}
		for i := range gateways {
			g := gateways[(round+i)%len(gateways)]
			figures, err := turn(ctx, w, m, g)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", g.name, err)
			}
			fmt.Fprintf(os.Stderr, "%s, round %d, %s: %.1f\n", m.name, round+1, g.name, figures)
			all[g.name] = append(all[g.name], figures)
		}
		lock.share()
	}
	return all, nil
}

func turn(ctx context.Context, w *world, m measure, g *gateway) ([]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if m.fresh {
		if err := w.start(ctx, g); err != nil {
			return nil, err
		}
		defer g.Stop()
	}
	return m.turn(w, g)
}
