package tasks

import (
	"cmp"
	"context"
	"encoding/json"

	"sluice/cache"
	"sluice/gateway/billing"
	"sluice/telemetry/meter"
)

// Streamed keeps what the stream of a task's creation counted, which ended the task, for a task that a query shall settle: if no query
// counts what was made, this does. If it cannot be kept, the task is charged as held then.
func (s *settler) Streamed(ctx context.Context, team, task string, r *meter.Reading) {
	claim, known, err := s.deps.Claims.Get(ctx, team, task)
	if err != nil || !known || claim.Final() {
		return
	}
	s.deps.Claims.Streamed(ctx, &claim, counted(task, r))
}

// addStreamed adds what the stream of a task's creation counted to an answer that says that the task has succeeded, but not what it made.
// The stream may have ended while that answer was fetched.
func (s *settler) addStreamed(ctx context.Context, claim *cache.Claim, answer *cache.Answer, body []byte) {
	reading := read(body)
	if answer.Status != cache.Succeeded || billing.Tells(&reading, claim.Hold.Governed, true) {
		return
	}
	answer.Streamed = claim.Answer.Streamed
	if kept, known, err := s.deps.Claims.Get(ctx, claim.Team, claim.Task); err == nil && known {
		answer.Streamed = cmp.Or(kept.Answer.Streamed, answer.Streamed)
	}
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
