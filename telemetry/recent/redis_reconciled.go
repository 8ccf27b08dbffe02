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

// reconciledKey holds the outcome of the last reconciliation. It does not expire.
const reconciledKey = keyPrefix + "reconciled"

// A process reads the outcome every reconciledEvery. reconciledFor bounds a read.
const (
	reconciledEvery = 10 * time.Second
	reconciledFor   = 2 * time.Second
)

// NoteReconciled stores the outcome of a reconciliation for every process with this Redis.
func NoteReconciled(ctx context.Context, client redis.UniversalClient, r telemetry.Reconciled) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return client.Set(ctx, reconciledKey, text, 0).Err()
}

// Reconciled reads the outcome of the last reconciliation. Create it with [NewReconciled].
type Reconciled struct {
	client redis.UniversalClient // nil: nothing is ever reported
	last   atomic.Pointer[telemetry.Reconciled]
}

// NewReconciled returns a Reconciled that has read nothing. client may be nil; then it never reads.
func NewReconciled(client redis.UniversalClient) *Reconciled { return &Reconciled{client: client} }

// Last returns the outcome; false: none was reported or read yet.
func (r *Reconciled) Last() (telemetry.Reconciled, bool) {
	if last := r.last.Load(); last != nil {
		return *last, true
	}
	return telemetry.Reconciled{}, false
}

// Run reads the outcome every 10 s until ctx ends.
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

// read reads the outcome. If Redis is unreachable, the last one stays.
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
