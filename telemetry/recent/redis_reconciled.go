package recent

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/telemetry"
)

// reconciledKey has the outcome of the last reconciliation, for ever.
const reconciledKey = keyPrefix + "reconciled"

// reconciledEvery is how often a process reads it, and reconciledFor bounds a reading.
const (
	reconciledEvery = 10 * time.Second
	reconciledFor   = 2 * time.Second
)

// NoteReconciled reports the outcome of a reconciliation to every process with this Redis.
func NoteReconciled(ctx context.Context, client redis.UniversalClient, r telemetry.Reconciled) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return client.Set(ctx, reconciledKey, text, 0).Err()
}

// Reconciled is the outcome of the last reconciliation, as this process has read it. Create it with [NewReconciled].
type Reconciled struct {
	client redis.UniversalClient // nil: nothing is ever reported
	last   atomic.Pointer[telemetry.Reconciled]
}

// NewReconciled returns one that has read nothing. Without a client there is nothing to read.
func NewReconciled(client redis.UniversalClient) *Reconciled { return &Reconciled{client: client} }

// Last is the outcome; false: none was reported, or read.
func (r *Reconciled) Last() (telemetry.Reconciled, bool) {
	if last := r.last.Load(); last != nil {
		return *last, true
	}
	return telemetry.Reconciled{}, false
}

// Run reads it again and again, until ctx ends.
func (r *Reconciled) Run(ctx context.Context) {
	if r.client == nil {
		return
	}
	ticker := time.NewTicker(reconciledEvery)
	defer ticker.Stop()
	for {
		r.read(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// read reads it. If Redis is away, what is known stays.
func (r *Reconciled) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reconciledFor)
	defer cancel()
	text, err := r.client.Get(ctx, reconciledKey).Bytes()
	var last telemetry.Reconciled
	switch {
	case errors.Is(err, redis.Nil):
		r.last.Store(nil)
	case err == nil && json.Unmarshal(text, &last) == nil:
		r.last.Store(&last)
	}
}
