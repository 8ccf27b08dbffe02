package teams

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/big"
	"strings"
)

// MintedKey is a new key. No verb prints its secret; only [MintedKey.Reveal] returns it.
type MintedKey struct {
	ID     string // the public part, Key.ID
	SHA256 string // the digest of the whole key in hexadecimal, for the teams file

	whole string
}

// The form of a key: slk_<id>_<secret>.
const (
	keyPrefix     = "slk_"
	keyIDLetters  = 12 // of a–z and 0–9
	secretBytes   = 32
	secretLetters = 43 // base62: 62⁴³ is just above 2²⁵⁶
)

// MintKey makes a key from random bytes, which MUST come from a cryptographic source. It fails only where random does.
func MintKey(random io.Reader) (MintedKey, error) {
	var bytes [16 + secretBytes]byte
	if _, err := io.ReadFull(random, bytes[:]); err != nil {
		return MintedKey{}, fmt.Errorf("minting a key: %w", err)
	}
	// 16 bytes for 62 bits of id: the bias of the remainder is negligible, so no bytes are drawn again.
	ids := new(big.Int).Exp(big.NewInt(36), big.NewInt(keyIDLetters), nil)
	id := letters(new(big.Int).Mod(new(big.Int).SetBytes(bytes[:16]), ids), 36, keyIDLetters)
	secret := letters(new(big.Int).SetBytes(bytes[16:]), 62, secretLetters)
	whole := keyPrefix + id + "_" + secret
	sum := sha256.Sum256([]byte(whole))
	return MintedKey{ID: id, SHA256: hex.EncodeToString(sum[:]), whole: whole}, nil
}

// letters writes number in base, with leading zeros up to width.
func letters(number *big.Int, base, width int) string {
	text := number.Text(base)
	return strings.Repeat("0", width-len(text)) + text
}

// Reveal returns the whole key. Show it to its owner once and keep it nowhere.
func (k MintedKey) Reveal() string { return k.whole }

// Lines returns the key's lines for the teams file, to go under the team's keys, indented as in teams.example.yaml.
func (k MintedKey) Lines() string {
	return "      - id: " + k.ID + "\n        sha256: " + k.SHA256 + "\n"
}

// Format implements fmt.Formatter, so that no verb shows the secret.
func (k MintedKey) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, keyPrefix+k.ID+"_[redacted]")
}
