// Package store keeps pictures under keys, in a bucket of an object store that speaks S3's interface, or in a folder of this machine. It
// knows bytes and their metadata. Package mirror decides what they are, how long they are kept and who may see them.
package store

import (
	"context"
	"errors"
	"io"
	"net"
	"time"
)

// Errors of stores.
var (
	// ErrAbsent is the error of a key that is not kept.
	ErrAbsent = errors.New("the store has no such object")
	// ErrUnsigned is the error of a store that signs no addresses: its bytes go through this process.
	ErrUnsigned = errors.New("a folder signs no addresses")
)

// Store keeps objects. Keys are paths of letters, digits, dots, hyphens, underscores and tildes, without parts that begin with a dot. It is
// safe for concurrent use by any number of processes.
type Store interface {
	// Put MUST replace the object under the key: whole, or not at all.
	Put(ctx context.Context, key string, o *Object) error
	// Get MUST return what is kept, for the caller to close. Its error is [ErrAbsent] if nothing is.
	Get(ctx context.Context, key string) (*Kept, error)
	// List MUST return at most so many keys that begin with a prefix and sort after a key, in the order of their bytes.
	List(ctx context.Context, prefix, after string, most int) ([]string, error)
	// Delete MUST remove objects, and succeed for those that it does not keep.
	Delete(ctx context.Context, keys []string) error
	// Sign MUST return an address that gives the object's bytes, to anyone and for that long; [ErrUnsigned] if it has no addresses.
	Sign(ctx context.Context, key string, valid time.Duration) (string, error)
}

// Object is what is put.
type Object struct {
	Body []byte
	Type string // its media type
	Task string // whose it is; empty: no task's
}

// Kept is what a store has under a key.
type Kept struct {
	io.ReadSeekCloser

	Size     int64
	Type     string
	Task     string
	SHA256   string // of the bytes that were put, hexadecimal
	Modified time.Time
}

// Open opens the store at an address. secure connects to a bucket under TLS, as [http.Transport] asks for it; nil: with the system's
// root certificates. It connects to nothing.
func Open(a Address, keys Keys, secure func(ctx context.Context, network, address string) (net.Conn, error)) (Store, error) {
	if a.Dir != "" {
		return openFolder(a.Dir)
	}
	return openBucket(a, keys, secure)
}
