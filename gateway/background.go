package gateway

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// backgroundEvery is the pace of the work that no request waits for.
const backgroundEvery = time.Second

// Work does what is due beside the requests, until ctx ends. One goroutine runs it for as long as the gateway serves.
func (g *Gateway) Work(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	accounts, claims := news{g.deps.Logger, "accounts", ""}, news{g.deps.Logger, "tasks", ""}
	quotas := quotaWatch{live: g.live, accounts: g.deps.Accounts, metrics: g.deps.Metrics, shown: make(map[string]bool)}
	for _, do := range []func(){
		func() { accounts.log(g.deps.Accounts.Maintain(ctx)) },
		func() { claims.log(g.deps.Claims.Maintain(ctx)) },
		func() { g.tasks.Finish(ctx) },
		func() { quotas.round(ctx) },
		func() { g.inspection.buffers.Age(g.deps.Now()) },
	} {
		working.Go(func() { every(ctx, do) })
	}
}

func every(ctx context.Context, do func()) {
	tick := time.NewTicker(backgroundEvery)
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

// news logs an error when it is new: the same error every second is one line.
type news struct {
	logger *slog.Logger
	of     string
	last   string // the last error; empty: the last round had none
}

func (n *news) log(err error) {
	if err == nil {
		n.last = ""
		return
	}
	if text := err.Error(); text != n.last {
		n.logger.Error(n.of, slog.String("error", text))
		n.last = text
	}
}
