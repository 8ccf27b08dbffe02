package gateway

import (
	"context"
	"log/slog"
	"time"
)

// workEvery is the pace of what no request waits for.
const workEvery = time.Second

// Work does what is due beside the requests, until ctx ends. One goroutine runs it for as long as the gateway serves.
func (g *Gateway) Work(ctx context.Context) {
	tick := time.NewTicker(workEvery)
	defer tick.Stop()
	told := ""
	for {
		told = g.tell(g.Accounts.Tend(ctx), told)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// tell logs what is new: the same trouble every second is one line.
func (g *Gateway) tell(err error, told string) string {
	if err == nil {
		return ""
	}
	if text := err.Error(); text != told {
		g.Logger.Error("accounts", slog.String("error", text))
		return text
	}
	return told
}
