package teams

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"time"

	"sluice/policy/strictyaml"
)

// Key is one key of a team as the teams file has it: never the key itself.
type Key struct {
	// ID is the key's public part, 12 of a–z and 0–9, safe in logs and unique in the file.
	ID string `json:"id"`
	// SHA256 is the digest of the whole key. Zero: omitted, as in entries of the audit.
	SHA256 Digest `json:"sha256,omitzero"`
	// Expires is the first moment at which the key no longer works. Zero: never.
	Expires time.Time `json:"expires,omitzero"`
	// Disabled makes the key unusable. Default false.
	Disabled bool `json:"disabled,omitempty"`
	// Note is for people, at most 200 characters in one line. Empty: none.
	Note string `json:"note,omitempty"`
	// KeyLimits are the key's own, beside its team's.
	KeyLimits `json:"-"`
	// Members are the members of KeyLimits as the owner wrote them, by name, as JSON in the form of [Document.Text]. Nil: none.
	Members map[string]json.RawMessage `json:"-"`
}

// MarshalJSON writes the key, with its limits as the owner wrote them.
func (k Key) MarshalJSON() ([]byte, error) {
	type plain Key // without this method
	object, err := json.Marshal(plain(k))
	if err != nil || len(k.Members) == 0 {
		return object, err
	}
	return append(appendMembers(object[:len(object)-1], k.Members), '}'), nil
}

// Written are the key's limits as its owner wrote them.
func (k *Key) Written() (m KeyMembers) {
	for name, value := range m.named() {
		*value = k.Members[name]
	}
	return m
}

// Digest is the SHA-256 of a whole key.
type Digest [sha256.Size]byte

// MarshalText writes it in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// maxPresented is the longest string in bytes that is looked up as a key.
const maxPresented = 256

// keyOwner is a key with its team. It repeats the digest, to compare it in constant time.
type keyOwner struct {
	digest Digest
	team   *Team
	key    *Key
}

// noOwner replaces the owner of an unknown key, so that its look-up costs the same as a known one's.
var noOwner = keyOwner{team: &Team{Disabled: true}, key: &Key{Disabled: true}}

// Lookup finds the team of a presented key. It is ok if the key is known, neither disabled nor expired at now, and its team is
// not disabled; otherwise team and key are nil, whatever the reason, after the same work. Any string whose SHA-256 is in the file
// is a key, in Sluice's own form or not.
//
// The presented bytes are only hashed: the map is keyed by digest, so the time of its search reveals nothing about a key, and the
// found digest is compared in constant time.
func (f *File) Lookup(presented string, now time.Time) (team *Team, key *Key, ok bool) {
	if len(presented) > maxPresented {
		return nil, nil, false
	}
	var buffer [maxPresented]byte // on the stack: converting the string would allocate
	sum := sha256.Sum256(buffer[:copy(buffer[:], presented)])
	owner, found := f.keys[sum]
	if !found {
		owner = noOwner
	}
	same := subtle.ConstantTimeCompare(sum[:], owner.digest[:])
	if same&usable(owner, now) == 0 {
		return nil, nil, false
	}
	return owner.team, owner.key, true
}

// usable is 1 if neither key nor team is disabled and the key has not expired. It evaluates every condition each time, so that
// its time does not reveal which one failed.
func usable(owner keyOwner, now time.Time) int {
	expires := owner.key.Expires
	dead := bit(owner.team.Disabled) | bit(owner.key.Disabled) | bit(!expires.IsZero())&bit(!now.Before(expires))
	return 1 - dead
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

var keyID = strictyaml.Spelled(`^[a-z0-9]{12}$`, "12 of a–z and 0–9, the key's public part")

// readKey reads one key of a team.
func readKey(n strictyaml.Node) (k Key) {
	known := append([]strictyaml.Field{
		strictyaml.Must("id", strictyaml.Unique(&k.ID, "key id", keyID)),
		strictyaml.Must("sha256", func(v strictyaml.Node) { k.SHA256 = readSum(v) }),
		strictyaml.May("expires", strictyaml.One(&k.Expires, moment)),
	}, k.changeable()...)
	n.Fields(slices.Concat(known, []strictyaml.Field{strictyaml.May("note", strictyaml.One(&k.Note, prose))}, k.limits())...)
	return k
}

// changeable are the members, beside the limits, that [ChangeKey] may set.
func (k *Key) changeable() []strictyaml.Field {
	return []strictyaml.Field{strictyaml.May("disabled", strictyaml.One(&k.Disabled, strictyaml.Flag))}
}

// readSum reads the SHA-256 of a key. A value of another form may be the key itself, so it is never shown.
func readSum(n strictyaml.Node) (sum Digest) {
	const allowed = "the SHA-256 of the whole key as 64 hexadecimal digits"
	text, ok := n.Text()
	raw, err := hex.DecodeString(text)
	switch {
	case !ok:
		n.WrongKind(allowed)
	case strictyaml.PlainKey.MatchString(text): // noted already
	case err != nil || len(raw) != sha256.Size:
		n.Fault(strictyaml.Fault{Given: "another text (not shown: it may be a plain key)", Allowed: allowed})
	case Digest(raw) == sha256.Sum256(nil):
		n.Fault(strictyaml.Fault{Given: "the SHA-256 of nothing", Allowed: allowed})
		fallthrough
	default:
		sum = Digest(raw)
		n.Once("sha256", hex.EncodeToString(raw))
	}
	return sum
}

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
