package teams

import (
	"crypto/sha256"
	"crypto/subtle"
	"time"
)

// Key is one key of a team as the teams file has it: never the key itself.
type Key struct {
	// ID is the key's public part, 12 of a–z and 0–9, safe in logs and unique in the file.
	ID string
	// SHA256 is the digest of the whole key.
	SHA256 [sha256.Size]byte
	// Expires is the first moment at which the key no longer works. Zero: never.
	Expires time.Time
	// Disabled makes the key unusable. Default false.
	Disabled bool
	// Note is for people, at most 200 characters in one line. Empty: none.
	Note string
}

// maxPresented is the longest string in bytes that is looked up as a key.
const maxPresented = 256

type digest = [sha256.Size]byte

// keyOwner is whose a key is. It repeats the digest, to compare it in constant time.
type keyOwner struct {
	digest digest
	team   *Team
	key    *Key
}

// noOwner stands in for the owner of an unknown key, so that it costs what a known one does.
var noOwner = keyOwner{team: &Team{Disabled: true}, key: &Key{Disabled: true}}

// Lookup finds whose key was presented. It is ok if the key is known, neither disabled nor expired at now, and its team
// is not disabled; otherwise team and key are nil, whatever the reason, after the same work. Any string whose SHA-256
// stands in the file is a key, in Sluice's own form or not.
//
// The presented bytes are only hashed: the map is keyed by digest, so the time of its search tells nothing about a key,
// and the found digest is compared in constant time.
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

// usable is 1 if neither key nor team is disabled and the key has not expired. It evaluates every condition each time,
// so that its time does not tell which one failed.
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

// HasKey reports whether a key with this SHA-256 stands in the file, usable or not. The upstream key must not stand
// there: a team that holds it could bypass the gateway.
func (f *File) HasKey(sum [sha256.Size]byte) bool {
	_, found := f.keys[sum]
	return found
}
