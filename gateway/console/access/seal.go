package access

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

// newSecret returns 256 random bits, as 43 letters.
func newSecret() string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// nameOf is the name under which the store has what belongs to a secret.
func nameOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// derive returns another secret for one purpose. Neither can be computed from the other without the first.
func derive(secret, purpose string, about ...byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(purpose))
	mac.Write([]byte{0})
	mac.Write(about)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// seal encrypts what only the holder of a secret may read: the store alone does not give it away.
func seal(secret string, text []byte) []byte {
	return sealer(secret).Seal(nil, nil, text, nil) //nolint:gosec // it draws the nonce itself, and takes none
}

// open decrypts it. ok is false if it was sealed with another secret, or changed.
func open(secret string, sealed []byte) (text []byte, ok bool) {
	text, err := sealer(secret).Open(nil, nil, sealed, nil)
	return text, err == nil
}

func sealer(secret string) cipher.AEAD {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "seal", 32)
	if err != nil {
		panic(err) // of the arguments, which are constant
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // of the key's length
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // of the cipher's block size
	}
	return aead
}
