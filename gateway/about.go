package gateway

import (
	"sluice/policy"
	"sluice/telemetry"
)

// about says what an exchange with the service is for, in the words of spans and metrics.
func (g *Gateway) about(c *call) telemetry.SpanInfo {
	about := telemetry.SpanInfo{
		Operation: c.operation(), Model: c.Model, Label: c.Label, Team: c.Team, Task: c.Task, Stream: c.stream,
		Parent: c.Span, Alone: c.alone, Creation: c.creation, Parameters: c.parameters,
	}
	if about.Operation == telemetry.OperationNone {
		about.Name = c.method + " " + c.route.path
	}
	if g.deps.Traces != nil {
		about.Secrets = g.upstreamKey.Load()
	}
	return about
}

func (c *call) operation() string {
	switch policy.Kind(c.Kind) {
	case policy.KindText, policy.KindChat:
		return telemetry.OperationChat
	case policy.KindOther:
		return telemetry.OperationNone
	case "":
		if c.method == get && c.route.endpoint == policy.EndpointTasks {
			return telemetry.OperationFetch
		}
		return telemetry.OperationNone
	}
	return telemetry.OperationGenerate
}

// parametersOf is what the span of an exchange tells of its request.
func parametersOf(r *policy.Request, body []byte) *telemetry.Parameters {
	p := &telemetry.Parameters{
		MaxTokens: telemetry.Optional[int64](r.MaxTokens), TopK: telemetry.Optional[int64](r.TopK), Seed: telemetry.Optional[int64](r.Seed),
		Temperature: telemetry.Optional[float64](r.Temperature), TopP: telemetry.Optional[float64](r.TopP), Presence: telemetry.Optional[float64](r.PresencePenalty),
		Stop: r.Stop, Output: "text", Body: body, Choices: r.N,
	}
	switch {
	case r.Images > 0:
		p.Output = "image"
	case r.JSON:
		p.Output = "json"
	}
	return p
}
