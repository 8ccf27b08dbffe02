package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Mirror counts pictures on their way to the operator's store.
type Mirror struct {
	stored, bytes, deleted, failed, lost metric.Int64Counter
}

func newMirror(b *builder) Mirror {
	m := Mirror{
		stored:  b.counter(ownMirrorStored, "{picture}", "pictures of tasks that were stored"),
		bytes:   b.counter(ownMirrorBytes, "By", "bytes of pictures of tasks that were stored"),
		deleted: b.counter(ownMirrorDeleted, "{picture}", "pictures of tasks that were deleted from the store because their team keeps them no longer"),
		failed:  b.counter(ownMirrorFailed, "{try}", "tries to store a picture that failed, by what failed: fetch, its host; store, the store"),
		lost:    b.counter(ownMirrorLost, "{picture}", "pictures that are never stored, by why: expired, their address did first; refused, they are no picture or too large"),
	}
	if b.err == nil { // shown before the first
		for _, c := range []metric.Int64Counter{m.stored, m.bytes, m.deleted} {
			c.Add(context.Background(), 0)
		}
		for _, reason := range []string{"expired", "refused"} {
			m.lost.Add(context.Background(), 0, because(reason))
		}
		for _, reason := range []string{"fetch", "store"} {
			m.failed.Add(context.Background(), 0, because(reason))
		}
	}
	return m
}

func because(reason string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(labelReason.String(reason)))
}

// MirrorStored counts a picture that was stored.
func (m *Mirror) MirrorStored(bytes int) {
	m.stored.Add(context.Background(), 1)
	m.bytes.Add(context.Background(), int64(bytes))
}

// MirrorFailed counts a try to store a picture that failed. reason is from a closed set.
func (m *Mirror) MirrorFailed(reason string) {
	m.failed.Add(context.Background(), 1, because(reason))
}

// MirrorLost counts a picture that is never stored. reason is from a closed set.
func (m *Mirror) MirrorLost(reason string) {
	m.lost.Add(context.Background(), 1, because(reason))
}

// MirrorDeleted counts pictures that are kept no longer.
func (m *Mirror) MirrorDeleted(pictures int) {
	m.deleted.Add(context.Background(), int64(pictures))
}
