package access

import (
	"bytes"
	"context"
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"time"
)

// Store keeps the shared state of a console's replicas, as values by kind and name, each with a lifetime. No value is empty or has secrets.
type Store interface {
	// Put MUST store a value, replacing one of the same name. It MAY bound the values of a kind and evict the oldest.
	Put(ctx context.Context, kind, name string, value []byte, life time.Duration) error
	// Get MUST return a value, or nil if it is missing. A renew above 0 MUST become its lifetime from now on.
	Get(ctx context.Context, kind, name string, renew time.Duration) ([]byte, error)
	// Swap MUST replace a value and keep its lifetime. It MUST store nothing and return false if the value is missing, so that an ended
	// session stays ended.
	Swap(ctx context.Context, kind, name string, value []byte) (bool, error)
	// Take MUST remove a value and return it, or nil. Of several callers, on any replica, only one gets it.
	Take(ctx context.Context, kind, name string) ([]byte, error)
	// List MUST return the values of a kind, newest first.
	List(ctx context.Context, kind string) ([][]byte, error)
	// Count MUST add one to a number and return the sum. The number restarts from zero once window has passed since its first count.
	Count(ctx context.Context, name string, window time.Duration) (int, error)
}

// most bounds the values of one kind in a store, and the numbers in memory; the oldest are evicted first.
const most = 10_000

// The kinds of values.
const (
	kindSession = "session"
	kindSignOn  = "signon" // a sign-on at the issuer
	kindCount   = "count"
)

// records are the values of one kind, as JSON signed together with kind and name. Unsigned values, and those signed with another key,
// count as missing.
type records[T any] struct {
	store  Store
	signer signer
	kind   string
}

func (r *records[T]) put(ctx context.Context, name string, value *T, life time.Duration) error {
	return r.store.Put(ctx, r.kind, name, r.wrap(name, value), life)
}

// swap replaces a value; ok is false if it was removed meanwhile.
func (r *records[T]) swap(ctx context.Context, name string, value *T) (ok bool, err error) {
	return r.store.Swap(ctx, r.kind, name, r.wrap(name, value))
}

// get returns a value, or nil. A renew above 0 becomes its lifetime.
func (r *records[T]) get(ctx context.Context, name string, renew time.Duration) (*T, error) {
	kept, err := r.store.Get(ctx, r.kind, name, renew)
	return r.named(name, kept), err
}

// take removes a value and returns it, or nil.
func (r *records[T]) take(ctx context.Context, name string) (*T, error) {
	kept, err := r.store.Take(ctx, r.kind, name)
	return r.named(name, kept), err
}

// list returns the values, newest first.
func (r *records[T]) list(ctx context.Context) (values []*T, err error) {
	kept, err := r.store.List(ctx, r.kind)
	for _, one := range kept {
		if _, value := r.unwrap(one); value != nil {
			values = append(values, value)
		}
	}
	return values, err
}

// wrap returns a value's form in the store: its signature, its name, which has no space, and the value.
func (r *records[T]) wrap(name string, value *T) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // every field can be encoded
	}
	signature := base64.RawURLEncoding.EncodeToString(r.sign(name, text))
	return bytes.Join([][]byte{[]byte(signature), []byte(name), text}, []byte(" "))
}

func (r *records[T]) sign(name string, text []byte) []byte {
	return r.signer.sign([]byte("value"), []byte(r.kind), []byte(name), text)
}

// unwrap returns a value and its name; nil if it is not signed.
func (r *records[T]) unwrap(kept []byte) (name string, value *T) {
	parts := bytes.SplitN(kept, []byte(" "), 3)
	if len(parts) != 3 {
		return "", nil
	}
	signature, err := base64.RawURLEncoding.DecodeString(string(parts[0]))
	if err != nil || !hmac.Equal(signature, r.sign(string(parts[1]), parts[2])) || json.Unmarshal(parts[2], &value) != nil {
		return "", nil
	}
	return string(parts[1]), value
}

// named returns the value found under a name; nil if it was signed for another name.
func (r *records[T]) named(name string, kept []byte) *T {
	signed, value := r.unwrap(kept)
	if signed != name {
		return nil
	}
	return value
}
