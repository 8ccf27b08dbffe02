package access

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// signer signs with a key that is derived from a secret of the configuration, which all replicas share. It signs the secrets in
// cookies, so that an invented one is known without the store, and what is in the store, so that whoever writes there forges nothing.
type signer struct{ secret func() []byte }

const (
	randomBytes = 32 // of a secret
	proofBytes  = 16 // of its signature
)

// cookieLetters is the length of a secret in a cookie, as base64.
const cookieLetters = (randomBytes + proofBytes) * 4 / 3

func (s signer) sign(parts ...[]byte) []byte {
	key, err := hkdf.Key(sha256.New, s.secret(), nil, "sluice console", sha256.Size)
	if err != nil {
		panic(err) // of the arguments, which are constant
	}
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write(binary.AppendUvarint(nil, uint64(len(part))))
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// newSecret returns 256 random bits and their signature, for a cookie of that kind.
func (s signer) newSecret(kind string) string {
	random := make([]byte, randomBytes, randomBytes+proofBytes)
	_, _ = rand.Read(random) // it never fails
	return base64.RawURLEncoding.EncodeToString(append(random, s.proof(kind, random)...))
}

// gave reports whether a cookie's secret is of [signer.newSecret], with the key of now.
func (s signer) gave(kind, secret string) bool {
	if len(secret) != cookieLetters {
		return false
	}
	whole, err := base64.RawURLEncoding.DecodeString(secret)
	return err == nil && hmac.Equal(whole[randomBytes:], s.proof(kind, whole[:randomBytes]))
}

func (s signer) proof(kind string, random []byte) []byte {
	return s.sign([]byte("cookie"), []byte(kind), random)[:proofBytes]
}

// signedStore is a store whose values are signed with their kind and name. What is not, or was signed with another key, is not there.
type signedStore struct {
	Store
	signer signer
}

// Put implements [Store].
func (s signedStore) Put(ctx context.Context, kind, name string, value []byte, life time.Duration) error {
	return s.Store.Put(ctx, kind, name, s.wrap(kind, name, value), life)
}

// Swap implements [Store].
func (s signedStore) Swap(ctx context.Context, kind, name string, value []byte) (bool, error) {
	return s.Store.Swap(ctx, kind, name, s.wrap(kind, name, value))
}

// Get implements [Store].
func (s signedStore) Get(ctx context.Context, kind, name string, renew time.Duration) ([]byte, error) {
	kept, err := s.Store.Get(ctx, kind, name, renew)
	return s.named(kind, name, kept), err
}

// Take implements [Store].
func (s signedStore) Take(ctx context.Context, kind, name string) ([]byte, error) {
	kept, err := s.Store.Take(ctx, kind, name)
	return s.named(kind, name, kept), err
}

// List implements [Store].
func (s signedStore) List(ctx context.Context, kind string) ([][]byte, error) {
	kept, err := s.Store.List(ctx, kind)
	var values [][]byte
	for _, one := range kept {
		if _, value := s.unwrap(kind, one); value != nil {
			values = append(values, value)
		}
	}
	return values, err
}

// wrap returns what the store keeps of a value: its signature, its name, which has no space, and the value.
func (s signedStore) wrap(kind, name string, value []byte) []byte {
	signature := base64.RawURLEncoding.EncodeToString(s.sign(kind, name, value))
	return bytes.Join([][]byte{[]byte(signature), []byte(name), value}, []byte(" "))
}

func (s signedStore) sign(kind, name string, value []byte) []byte {
	return s.signer.sign([]byte("value"), []byte(kind), []byte(name), value)
}

// unwrap returns a value and its name; nil if it is not signed.
func (s signedStore) unwrap(kind string, kept []byte) (name string, value []byte) {
	parts := bytes.SplitN(kept, []byte(" "), 3)
	if len(parts) != 3 {
		return "", nil
	}
	signature, err := base64.RawURLEncoding.DecodeString(string(parts[0]))
	if err != nil || !hmac.Equal(signature, s.sign(kind, string(parts[1]), parts[2])) {
		return "", nil
	}
	return string(parts[1]), parts[2]
}

// named is unwrap for a value that was found under a name: one that was signed for another name does not count there.
func (s signedStore) named(kind, name string, kept []byte) []byte {
	signed, value := s.unwrap(kind, kept)
	if signed != name {
		return nil
	}
	return value
}
