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
	AlarmTaskUnknown  = "TaskUnknown"  // the service does not know a team's task
	AlarmTaskStatus   = "TaskStatus"   // the service has a status of a task that Sluice does not know
)

// Alarms reports faults that only an operator can fix. Create it with [NewAlarms]; it is safe for concurrent use.
type Alarms struct {
	now     func() time.Time
	metrics *Metrics
	logger  *slog.Logger

	mu     sync.Mutex
	logged map[alarm]*rate.Limiter // limit the log lines
}

// alarm is what is wrong, and with which account at the service.
type alarm struct{ code, account string }

// NewAlarms returns Alarms that count in the metrics, which may be nil, and log.
func NewAlarms(now func() time.Time, metrics *Metrics, logger *slog.Logger) *Alarms {
	return &Alarms{now: now, metrics: metrics, logger: logger, logged: make(map[alarm]*rate.Limiter)}
}

// Raise counts an alarm about an account at the service. It logs one a minute at most, because the same fault may occur with every request.
func (a *Alarms) Raise(code, account, text string) {
	a.metrics.Alarm(code)
	a.mu.Lock()
	defer a.mu.Unlock()
	raised := alarm{code, account}
	if a.logged[raised] == nil {
		a.logged[raised] = rate.NewLimiter(rate.Every(alarmEvery), 1)
	}
	if a.logged[raised].AllowN(a.now(), 1) {
		a.logger.Error("alarm", slog.String("code", code), slog.String("account", account), slog.String("error", text))
	}
}
