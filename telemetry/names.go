package telemetry

// The names of Sluice's own instruments: no convention has any for these.
const (
	stateDegraded = "sluice.state.degraded"
	taskPolls     = "sluice.polls"
	settlements   = "sluice.settlements"
)
