package access

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
)

const (
	randomBytes = 32 // random bytes of a secret
	proofBytes  = 16 // bytes of its signature
	// cookieLetters is the length of a secret in a cookie, in base64.
	cookieLetters = (randomBytes + proofBytes) * 4 / 3
)

// random returns 256 random bits.
func random() []byte {
	bits := make([]byte, randomBytes)
	_, _ = rand.Read(bits) // it never fails
	return bits
}

// newSecret returns 256 random bits, as 43 letters.
func newSecret() string { return base64.RawURLEncoding.EncodeToString(random()) }

// nameOf returns the name in the store of the value that belongs to a secret.
func nameOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// derive derives a secret for one purpose. Derived secrets reveal neither the first secret nor each other.
func derive(secret, purpose string, about ...byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(purpose))
	mac.Write([]byte{0})
	mac.Write(about)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// expand derives a key for one purpose.
func expand(secret []byte, purpose string) []byte {
	key, err := hkdf.Key(sha256.New, secret, nil, purpose, sha256.Size)
	if err != nil {
		panic(err) // depends only on the lengths, which are constant
	}
	return key
}

// seal encrypts a text with a secret: read access to the store does not suffice to read it.
func seal(secret string, text []byte) []byte {
	return sealer(secret).Seal(nil, nil, text, nil) //nolint:gosec // it draws the nonce itself
}

// open decrypts a sealed text. ok is false if it was sealed with another secret, or changed.
func open(secret string, sealed []byte) (text []byte, ok bool) {
	text, err := sealer(secret).Open(nil, nil, sealed, nil)
	return text, err == nil
}

func sealer(secret string) cipher.AEAD {
	block, err := aes.NewCipher(expand([]byte(secret), "seal"))
	if err != nil {
		panic(err) // depends only on the key's length
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // depends only on the cipher's block size
	}
	return aead
}

// signer signs with a key derived from a secret of the configuration, which all replicas share. It signs the secrets in cookies, to detect
// invented ones without the store, and the store's values, so that write access to the store does not allow forgery.
type signer struct{ secret func() []byte }

func (s signer) sign(parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, expand(s.secret(), "sluice console"))
	for _, part := range parts {
		mac.Write(binary.AppendUvarint(nil, uint64(len(part))))
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// newSecret returns 256 random bits and their signature, for a cookie of this kind.
func (s signer) newSecret(kind string) string {
	bits := random()
	return base64.RawURLEncoding.EncodeToString(append(bits, s.proof(kind, bits)...))
}

// gave reports whether [signer.newSecret] issued a cookie's secret, with the current key.
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
