package tasks

import (
	"context"
	"encoding/json"

	"sluice/cache"
	"sluice/telemetry/meter"
)

// Streamed keeps what the stream of a task's creation counted, which ended the task, for a task that a query shall settle: if no query
// counts what was made, this does. If it cannot be kept, the task is charged as held then.
func (s *settler) Streamed(ctx context.Context, team, task string, r *meter.Reading) {
	claim, known, err := s.deps.Claims.Get(ctx, team, task)
	if err != nil || !known || claim.Final() {
		return
	}
	answer := claim.Answer
	if answer.Streamed = counted(task, r); !answer.Status.Runs() {
		answer.Status = cache.Running // an answer without a state would not be kept
	}
	_, _ = s.deps.Claims.Hear(ctx, &claim, answer, claim.Body, claim.Queries)
}

// counted is an answer to a query of a task that has succeeded, with the usage of a stream, and so the same cost.
func counted(task string, r *meter.Reading) string {
	usage := map[string]any{}
	for f := meter.InputTokens; f <= meter.Height; f++ {
		if n, ok := r.Usage.Get(f); ok {
			usage[f.String()] = n
		}
	}
	if n, ok := r.Images(); ok {
		usage[meter.ImageCount.String()] = n
	}
	if _, size := r.Usage.Size(); size != "" {
		usage["size"] = size
	}
	if r.Usage.HitsExplicitCache() {
		usage["cache_type"] = "ephemeral"
	}
	// it always encodes
	text, _ := json.Marshal(map[string]any{"output": map[string]any{"task_id": task, "task_status": cache.Succeeded}, "usage": usage})
	return string(text)
}

func read(body []byte) meter.Reading {
	var reads meter.Meter
	reads.Reset("application/json", "")
	_, _ = reads.Write(body) // it never fails
	return reads.End()
}
