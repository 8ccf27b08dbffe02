package gateway

import (
	"log/slog"
	"sync"
	"time"
)

// alarmEvery is how often an alarm of one kind is logged. Each is counted.
const alarmEvery = time.Minute

// What an operator has to look into, besides the service's own codes.
const (
	alarmKeyRefused   = "KeyRefused"   // the service refused the gateway's key
	alarmKeyPresented = "KeyPresented" // a client holds the service's key
)

// billing are the service's codes for an account that does not pay. No request fares better until somebody does.
var billing = map[string]bool{"Arrearage": true, "CommodityNotPurchased": true, "PrepaidBillOverdue": true, "PostpaidBillOverdue": true}

// alarms remembers when each was logged last. Its zero value is ready.
type alarms struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// alarm counts what an operator has to look into, and logs it once in a while: it comes with every request.
func (g *Gateway) alarm(code, text string) {
	g.deps.Metrics.Alarm(code)
	now := g.deps.Now()
	g.alarms.mu.Lock()
	defer g.alarms.mu.Unlock()
	if last, told := g.alarms.last[code]; told && now.Sub(last) < alarmEvery {
		return
	}
	if g.alarms.last == nil {
		g.alarms.last = make(map[string]time.Time)
	}
	g.alarms.last[code] = now
	g.deps.Logger.Error("alarm", slog.String("code", code), slog.String("error", text))
}

// alarmOf looks for an account that does not pay.
func (g *Gateway) alarmOf(code string) {
	if billing[code] {
		g.alarm(code, "the service says that its account does not pay")
	}
}
