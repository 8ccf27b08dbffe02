package teams

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

var keyID = regexp.MustCompile(`^[a-z0-9]{12}$`)

// key reads one key of a team.
func (r *fileReader) key(n node) (k Key) {
	given := r.fields(n, []field{
		{"id", func(v node) { k.ID = r.unique(v, "key id", keyID, "12 of a–z and 0–9, the key's public part") }},
		{"sha256", func(v node) { k.SHA256 = r.sum(v) }},
		{"expires", func(v node) { k.Expires = r.moment(v) }},
		{"disabled", func(v node) { k.Disabled = r.flag(v) }},
		{"note", func(v node) { k.Note = r.prose(v) }},
	})
	r.require(n, given, "id", "sha256")
	return k
}

// sum reads the SHA-256 of a key. A value of another form may be the key itself, so it is never shown.
func (r *fileReader) sum(n node) (sum digest) {
	const allowed = "the SHA-256 of the whole key as 64 hexadecimal digits"
	text, ok := r.text(n, allowed)
	if !ok || plainKey.MatchString(text) {
		return sum // plainKeys notes a plain key
	}
	raw, err := hex.DecodeString(text)
	switch {
	case err != nil || len(raw) != sha256.Size:
		r.fault(n, "got no SHA-256 (not shown: it may be a plain key), allowed: "+allowed)
		return sum
	case digest(raw) == sha256.Sum256(nil):
		r.fault(n, "got the SHA-256 of nothing, allowed: "+allowed)
	}
	r.once(n, "sha256", hex.EncodeToString(raw))
	return digest(raw)
}
