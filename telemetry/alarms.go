package telemetry

import (
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// alarmEvery is the least time between two log lines of one alarm. The metrics count every alarm.
const alarmEvery = time.Minute

// Alarms for the operator, beside the service's own codes.
const (
	AlarmKeyRefused   = "KeyRefused"   // the service refused the gateway's key
	AlarmKeyPresented = "KeyPresented" // a client holds the service's key
)

// billing are the service's codes for an account that does not pay. Every request fails until the operator acts.
var billing = map[string]bool{"Arrearage": true, "CommodityNotPurchased": true, "PrepaidBillOverdue": true, "PostpaidBillOverdue": true}

// Alarms reports faults that only an operator can fix. Create it with [NewAlarms]; it is safe for concurrent use.
type Alarms struct {
	now     func() time.Time
	metrics *Metrics
	logger  *slog.Logger

	mu     sync.Mutex
	logged map[string]*rate.Limiter // of the log lines, by code
}

// NewAlarms returns Alarms that are counted in the metrics, which may be nil, and logged.
func NewAlarms(now func() time.Time, metrics *Metrics, logger *slog.Logger) *Alarms {
	return &Alarms{now: now, metrics: metrics, logger: logger, logged: make(map[string]*rate.Limiter)}
}

// Raise counts an alarm, and logs it unless it was logged a moment ago: the same fault may occur with every request.
func (a *Alarms) Raise(code, text string) {
	a.metrics.Alarm(code)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.logged[code] == nil {
		a.logged[code] = rate.NewLimiter(rate.Every(alarmEvery), 1)
	}
	if a.logged[code].AllowN(a.now(), 1) {
		a.logger.Error("alarm", slog.String("code", code), slog.String("error", text))
	}
}

// CheckBilling raises an alarm if the service's error code means that its account does not pay.
func (a *Alarms) CheckBilling(code string) {
	if billing[code] {
		a.Raise(code, "the service says that its account does not pay")
	}
}
