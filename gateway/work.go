package gateway

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// workEvery is the pace of what no request waits for.
const workEvery = time.Second

// Work does what is due beside the requests, until ctx ends. One goroutine runs it for as long as the gateway serves.
func (g *Gateway) Work(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	accounts, tasks := "", ""
	working.Go(func() { every(ctx, func() { accounts = g.tellNews("accounts", g.deps.Accounts.Tend(ctx), accounts) }) })
	working.Go(func() { every(ctx, func() { tasks = g.tellNews("tasks", g.deps.Claims.Tend(ctx), tasks) }) })
	working.Go(func() { every(ctx, func() { g.tasks.Finish(ctx) }) })
	quotas := quotaWatch{gateway: g, shown: make(map[string]bool)}
	working.Go(func() { every(ctx, func() { quotas.turn(ctx) }) })
}

func every(ctx context.Context, do func()) {
	tick := time.NewTicker(workEvery)
	defer tick.Stop()
	for {
		do()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// tellNews logs what is new: the same trouble every second is one line.
func (g *Gateway) tellNews(of string, err error, told string) string {
	if err == nil {
		return ""
	}
	if text := err.Error(); text != told {
		g.deps.Logger.Error(of, slog.String("error", text))
		return text
	}
	return told
}
