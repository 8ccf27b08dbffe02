package gateway

import (
	"sluice/policy"
	"sluice/telemetry"
)

// spanInfo describes the exchange of a request for its span and metrics.
func (u *service) spanInfo(s *requestState) telemetry.SpanInfo {
	info := telemetry.SpanInfo{
		Operation: s.operation(), Model: s.Model, Label: s.Label, Team: s.Team, Task: s.Task, Stream: s.stream,
		Parent: s.Span, Alone: s.finisher, Creation: s.creation, Parameters: s.parameters,
	}
	if info.Operation == telemetry.OperationNone {
		info.Name = s.method + " " + s.route.path
	}
	if u.deps.Traces != nil {
		info.Secrets = u.live.key.Load()
	}
	return info
}

func (s *requestState) operation() string {
	switch policy.Kind(s.Kind) {
	case policy.KindText, policy.KindChat:
		return telemetry.OperationChat
	case policy.KindOther:
		return telemetry.OperationNone
	case "":
		if s.method == get && s.route.endpoint == policy.EndpointTasks {
			return telemetry.OperationFetch
		}
		return telemetry.OperationNone
	}
	return telemetry.OperationGenerate
}

// spanParameters are the parts of a request that its exchange's span shows.
func spanParameters(r *policy.Request, body []byte) *telemetry.Parameters {
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
