package gateway

import (
	"context"
	"log/slog"
	"time"

	"sluice/policy/teams"
	"sluice/telemetry"
)

// Deps are the parts that a Gateway uses. All are required unless they say otherwise.
type Deps struct {
	Now           func() time.Time               // the clock for times and durations; time.Now outside tests
	Teams         *teams.File                    // the teams to start with; SetTeams replaces them
	UpstreamKey   Secret                         // the key to start with; SetUpstreamKey replaces it
	Claims        Claims                         // the teams' tasks
	Queries       Queries                        // the rate of task queries of the account
	Cancels       Queries                        // the rate of cancels of the account
	Outcomes      Outcomes                       // of creations with an Idempotency-Key
	Identities    Identities                     // verifies tokens in place of keys; nil: none are taken
	Accounts      Accounts                       // what teams may still spend
	Remote        *Remote                        // how to use the stores; nil: they are in this process's memory
	Metrics       *telemetry.Metrics             // nil: no metrics
	Traces        *telemetry.Traces              // nil: no spans
	Record        func(record *telemetry.Record) // takes the finished Record of every request, which is valid during the call; must not block
	TaskEnded     func(task *telemetry.Task)     // takes every task that this process charged; must not block nor keep it; nil: not called
	KeyAccepted   func(ctx context.Context)      // is called with the context of each request whose key or token is valid, before anything else is done with it; nil: not called
	UnheldReached func()                         // is called when a refused request for pictures is not noted, because [MostUnheld] are read; nil: not called
	Logger        *slog.Logger                   // for what happens outside requests, and for the inside of errors
}
