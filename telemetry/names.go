package telemetry

import (
	"go.opentelemetry.io/otel/attribute"

	"sluice/policy/unit"
)

// Every name that leaves the process is in this file. A golden file pins them: dashboards and alerts depend on them.

// The instruments. Names that begin with sluice. are our own, where no convention exists.
const (
	httpDuration = "http.server.request.duration"
	httpActive   = "http.server.active_requests"

	genDuration   = "gen_ai.client.operation.duration"
	genTokens     = "gen_ai.client.token.usage"
	genFirstChunk = "gen_ai.client.operation.time_to_first_chunk"
	genEachChunk  = "gen_ai.client.operation.time_per_output_chunk"

	redisDuration = "db.client.operation.duration"

	ownRefusals        = "sluice.refusals"
	ownPolls           = "sluice.polls"
	ownHoldsOpen       = "sluice.holds.open"
	ownHoldsOldest     = "sluice.holds.oldest"
	ownSettlements     = "sluice.settlements"
	ownUnpriced        = "sluice.requests.unpriced"
	ownQuotaUsed       = "sluice.quota.used_ratio"
	ownHouseUsed       = "sluice.house.used"
	ownHouseAlerts     = "sluice.house.alerts"
	ownReconciledAt    = "sluice.reconcile.last_timestamp"
	ownReconciledDue   = "sluice.reconcile.due_timestamp"
	ownReconciledRatio = "sluice.reconcile.difference_ratio"
	ownAlarms          = "sluice.upstream.alarms"
	ownSurplus         = "sluice.upstream.surplus"
	ownOverhead        = "sluice.overhead"
	ownQueue           = "sluice.queue"
	ownQueueWaiting    = "sluice.queue.waiting"
	ownQueueDepth      = "sluice.queue.depth"
	ownDegraded        = "sluice.state.degraded"
	ownReplicas        = "sluice.replicas"
	ownBuild           = "sluice.build_info"
	ownAccountState    = "sluice.account.state"
	ownFailovers       = "sluice.account.failovers"
	ownAccountBusy     = "sluice.account.in_flight"
	ownHooks           = "sluice.hook.deliveries"
	ownEventsDropped   = "sluice.events.dropped"
	ownStreams         = "sluice.event.streams"
	ownHookOldest      = "sluice.hook.oldest"
	ownHookEnded       = "sluice.hook.ended"
	ownMirrorStored    = "sluice.mirror.stored"
	ownMirrorBytes     = "sluice.mirror.bytes"
	ownMirrorFailed    = "sluice.mirror.failed"
	ownMirrorLost      = "sluice.mirror.lost"
	ownMirrorDeleted   = "sluice.mirror.deleted"
	ownMirrorWaiting   = "sluice.mirror.waiting"
	ownWarnings        = "sluice.warnings"
	ownReloads         = "sluice.reloads"
	ownTeamsFaulty     = "sluice.teams.faulty"
	ownLogDropped      = "sluice.log.dropped"
	ownOtherDropped    = "sluice.telemetry.dropped"
)

// The labels of our own instruments.
const (
	labelTeam    = attribute.Key("team")
	labelModel   = attribute.Key("model")
	labelStage   = attribute.Key("stage")
	labelReason  = attribute.Key("reason")
	labelSource  = attribute.Key("source")
	labelOutcome = attribute.Key("outcome")
	labelUnit    = attribute.Key("unit")
	labelPeriod  = attribute.Key("period")
	labelShadow  = attribute.Key("shadow")
	labelPercent = attribute.Key("percent")
	labelRule    = attribute.Key("rule")
	labelCode    = attribute.Key("code")
	labelSignal  = attribute.Key("signal")
	labelAccount = attribute.Key("account")
	labelState   = attribute.Key("state")
	labelHook    = attribute.Key("hook")
)

// The attributes of spans and instruments that a convention names: HTTP and databases by version 1.43 of the conventions,
// generative models by version 1.41, the last that has them.
const (
	httpMethod   = attribute.Key("http.request.method")
	httpRoute    = attribute.Key("http.route")
	httpStatus   = attribute.Key("http.response.status_code")
	urlScheme    = attribute.Key("url.scheme")
	errorType    = attribute.Key("error.type")
	serverHost   = attribute.Key("server.address")
	serverPort   = attribute.Key("server.port")
	dbSystem     = attribute.Key("db.system.name")
	dbOperation  = attribute.Key("db.operation.name")
	genOperation = attribute.Key("gen_ai.operation.name")
	genProvider  = attribute.Key("gen_ai.provider.name")
	genModel     = attribute.Key("gen_ai.request.model")

	genMaxTokens   = attribute.Key("gen_ai.request.max_tokens")
	genTemperature = attribute.Key("gen_ai.request.temperature")
	genTopP        = attribute.Key("gen_ai.request.top_p")
	genTopK        = attribute.Key("gen_ai.request.top_k")
	genSeed        = attribute.Key("gen_ai.request.seed")
	genPresence    = attribute.Key("gen_ai.request.presence_penalty")
	genStop        = attribute.Key("gen_ai.request.stop_sequences")
	genChoices     = attribute.Key("gen_ai.request.choice.count")
	genStream      = attribute.Key("gen_ai.request.stream")
	genOutput      = attribute.Key("gen_ai.output.type")

	genResponseID = attribute.Key("gen_ai.response.id")
	genReasons    = attribute.Key("gen_ai.response.finish_reasons")
	genFirst      = attribute.Key("gen_ai.response.time_to_first_chunk")

	genTokenType = attribute.Key("gen_ai.token.type")
	genInput     = attribute.Key("gen_ai.usage.input_tokens")
	genOutputs   = attribute.Key("gen_ai.usage.output_tokens")
	genCached    = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	genCaching   = attribute.Key("gen_ai.usage.cache_creation.input_tokens")
	genReasoning = attribute.Key("gen_ai.usage.reasoning.output_tokens")

	genInputMessages  = attribute.Key("gen_ai.input.messages")
	genOutputMessages = attribute.Key("gen_ai.output.messages")
	genInstructions   = attribute.Key("gen_ai.system_instructions")
)

// Our own attributes of spans.
const (
	ownTeam          = attribute.Key("sluice.team")
	ownKey           = attribute.Key("sluice.key")
	ownAccount       = attribute.Key("sluice.account")
	ownTags          = attribute.Key("sluice.tag")
	ownEndpoint      = attribute.Key("sluice.endpoint")
	ownKind          = attribute.Key("sluice.kind")
	ownTask          = attribute.Key("sluice.task")
	ownRequest       = attribute.Key("sluice.request.id")
	ownUpstreamID    = attribute.Key("sluice.upstream.request.id")
	ownCache         = attribute.Key("sluice.cache")
	ownStage         = attribute.Key("sluice.refusal.stage")
	ownReason        = attribute.Key("sluice.refusal.reason")
	ownOverheadTime  = attribute.Key("sluice.overhead") // seconds
	ownCostFlag      = attribute.Key("sluice.cost.flag")
	ownUsageImages   = attribute.Key("sluice.usage.images")
	ownHeldImages    = attribute.Key("sluice.held.images")
	ownQueueTime     = attribute.Key("sluice.task.queue_time") // seconds
	ownRunTime       = attribute.Key("sluice.task.run_time")   // seconds
	ownPollsServed   = attribute.Key("sluice.task.polls.served")
	ownPollsSent     = attribute.Key("sluice.task.polls.sent")
	ownTaskOutcome   = attribute.Key("sluice.task.outcome")
	ownTaskEstimated = attribute.Key("sluice.task.estimated")
)

// ownUnit is the prefix of the counters of charges; the unit's name follows, for the units that are counted.
const ownUnit = "sluice."

var ownCosts = func() (keys [unit.Count]attribute.Key) {
	for i, name := range unit.Names {
		keys[i] = attribute.Key("sluice.cost." + name)
	}
	return keys
}()

// The operations of the service, as in gen_ai.operation.name. An exchange without an operation does not call a model.
const (
	OperationNone     = ""                 // a forwarded path, a cancellation
	OperationChat     = "chat"             // text
	OperationEmbed    = "embeddings"       // vectors of texts
	OperationGenerate = "generate_content" // images
	OperationFetch    = "fetch_response"   // a task query
)

// The bounds of the histograms, in seconds and tokens. Durations have the conventions' bounds and two more for images, which take
// minutes; Sluice's own overhead begins at 0.1 ms.
var (
	durationBounds = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68}
	tokenBounds    = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	overheadBounds = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1}
)
