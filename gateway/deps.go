package gateway

import (
	"log/slog"
	"time"

	"sluice/policy/teams"
	"sluice/telemetry"
)

// Deps are the parts a Gateway works with. All are required.
type Deps struct {
	Now         func() time.Time              // the clock for times and durations; time.Now outside tests
	Teams       *teams.File                   // the teams to start with; SetTeams replaces them
	UpstreamKey Secret                        // the key to start with; SetUpstreamKey replaces it
	Claims      Claims                        // whose task is whose
	Queries     Queries                       // the account's rate of task queries
	Cancels     Queries                       // and that of cancels
	Outcomes    Outcomes                      // of creations with an Idempotency-Key
	Accounts    Accounts                      // what teams may still spend
	Metrics     *telemetry.Metrics            // measures; nil: nothing does
	Traces      *telemetry.Traces             // makes spans; nil: nothing does
	Record      func(record telemetry.Record) // takes the finished Record of every request; must not block
	Logger      *slog.Logger                  // for what happens outside requests, and for the inside of errors
}
