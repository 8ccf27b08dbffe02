package gateway

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"sluice/gateway/upstream"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// live holds the parts that may change while the gateway runs.
type live struct {
	teams    atomic.Pointer[teams.File]
	key      atomic.Pointer[upstream.Credential]
	draining atomic.Bool // every answer ends its connection
	stopping atomic.Bool // new requests are refused
}

// label is the name of a model in metrics.
func (l *live) label(model string) string { return l.teams.Load().Label(model) }

// cover hides the service's key and address in a text.
func (l *live) cover(text string) string { return l.key.Load().Cover(text) }

// alarmEvery is the least time between two log lines of one alarm. The metrics count every alarm.
const alarmEvery = time.Minute

// Alarms for the operator, beside the service's own codes.
const (
	alarmKeyRefused   = "KeyRefused"   // the service refused the gateway's key
	alarmKeyPresented = "KeyPresented" // a client holds the service's key
)

// billing are the service's codes for an account that does not pay. Every request fails until the operator acts.
var billing = map[string]bool{"Arrearage": true, "CommodityNotPurchased": true, "PrepaidBillOverdue": true, "PostpaidBillOverdue": true}

// alarms tells the operator of faults that only an operator can mend.
type alarms struct {
	now     func() time.Time
	metrics *telemetry.Metrics
	logger  *slog.Logger

	mu     sync.Mutex
	logged map[string]*rate.Limiter // of the log lines, by code
}

// raise counts an alarm, and logs it unless it was logged a moment ago: the same fault may come with every request.
func (a *alarms) raise(code, text string) {
	a.metrics.Alarm(code)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.logged == nil {
		a.logged = make(map[string]*rate.Limiter)
	}
	if a.logged[code] == nil {
		a.logged[code] = rate.NewLimiter(rate.Every(alarmEvery), 1)
	}
	if a.logged[code].AllowN(a.now(), 1) {
		a.logger.Error("alarm", slog.String("code", code), slog.String("error", text))
	}
}

// checkBilling raises an alarm if the service's error code says that its account does not pay.
func (a *alarms) checkBilling(code string) {
	if billing[code] {
		a.raise(code, "the service says that its account does not pay")
	}
}
