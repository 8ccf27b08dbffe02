package telemetry

import (
	"go.opentelemetry.io/otel/attribute"

	"sluice/telemetry/meter"
	"sluice/telemetry/otlp"
)

func (x *Exchange) spanName() string {
	if x.info.Operation == OperationNone {
		return x.info.Name
	}
	return x.info.Operation + " " + otlp.Shorten(x.info.Model, otlp.MaxValue)
}

func writeExchange(s *otlp.Span, x *Exchange, result *Result) {
	info, reading := &x.info, result.Reading
	if info.Operation != OperationNone {
		s.Text(genOperation, info.Operation)
		s.Text(genProvider, x.traces.config.Provider)
		s.Text(genModel, info.Model)
	}
	s.Text(serverHost, x.traces.host)
	s.Known(serverPort, x.traces.port)
	s.Known(httpStatus, int64(result.Status))
	if reading.Failed && reading.ErrorCode != "" { // the service's own code: only labels of metrics must be from a closed set
		s.Text(errorType, covered(reading.ErrorCode, info.Secrets))
	} else {
		s.Text(errorType, result.failure())
	}
	s.Text(ownTeam, info.Team)
	if info.Stream {
		s.True(genStream)
	}
	if x.first > 0 {
		s.Float(genFirst, x.first.Seconds())
	}
	writeParameters(s, info.Parameters)
	switch {
	case info.Operation != OperationFetch:
		s.Text(genResponseID, covered(reading.ResponseID, info.Secrets))
		writeReading(s, reading, info.Secrets)
	case x.traces.latest:
		s.Text(genResponseID, info.Task)
	}
	if x.content.on {
		writeContent(s, &x.content, info)
	}
}

// covered covers secrets in a text of the service's. It must come before the text is cut, or a part of a secret could remain.
func covered(value string, secrets Secrets) string {
	if secrets == nil {
		return value
	}
	return secrets.Cover(value)
}

func writeParameters(s *otlp.Span, p *Parameters) {
	if p == nil {
		return
	}
	for _, n := range [...]struct {
		key   attribute.Key
		value *Optional[int64]
	}{{genMaxTokens, &p.MaxTokens}, {genTopK, &p.TopK}, {genSeed, &p.Seed}} {
		if n.value.Set {
			s.Int(n.key, n.value.Value)
		}
	}
	for _, n := range [...]struct {
		key   attribute.Key
		value *Optional[float64]
	}{{genTemperature, &p.Temperature}, {genTopP, &p.TopP}, {genPresence, &p.Presence}} {
		if n.value.Set {
			s.Float(n.key, n.value.Value)
		}
	}
	if p.Choices > 1 {
		s.Int(genChoices, int64(p.Choices))
	}
	if len(p.Stop) > 0 {
		s.Texts(genStop, p.Stop)
	}
	s.Text(genOutput, p.Output)
}

func writeReading(s *otlp.Span, r *meter.Reading, secrets Secrets) {
	if len(r.FinishReasons) > 0 {
		reasons := make([]string, 0, 4)
		for _, reason := range r.FinishReasons {
			reasons = append(reasons, covered(reason, secrets))
		}
		s.Texts(genReasons, reasons)
	}
	for _, n := range [...]struct {
		key   attribute.Key
		field meter.Field
	}{
		{genInput, meter.InputTokens},
		{genOutputs, meter.OutputTokens},
		{genCached, meter.CachedTokens},
		{genCaching, meter.CacheCreationTokens},
		{genReasoning, meter.ReasoningTokens},
	} {
		if value, ok := r.Usage.Get(n.field); ok {
			s.Int(n.key, value)
		}
	}
	if images, ok := r.Images(); ok {
		s.Int(ownUsageImages, images)
	}
}
