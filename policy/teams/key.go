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
}

// maxPresented is the length in bytes beyond which a string cannot be a key and is not looked at.
const maxPresented = 256

type digest = [sha256.Size]byte

// keyOwner is what a digest leads to. The digest stands in it again, to be compared in constant time.
type keyOwner struct {
	digest digest
	team   *Team
	key    *Key
}

// nobody is compared with where no key is found, so that an unknown key costs what a known one does.
var nobody = keyOwner{team: &Team{Disabled: true}, key: &Key{Disabled: true}}

// Lookup finds whose key was presented. It is ok where the key is known, neither disabled nor expired at now, and its
// team not disabled; else team and key are nil, whatever the reason, and the work was the same. Any string whose
// SHA-256 stands in the file is a key, whether it has Sluice's own form or not.
//
// The presented bytes are only ever hashed: the map is keyed by digest, so the time of its search says nothing about
// a key, and the found digest is compared in constant time.
func (t *File) Lookup(presented string, now time.Time) (team *Team, key *Key, ok bool) {
	if len(presented) > maxPresented {
		return nil, nil, false
	}
	var buffer [maxPresented]byte // on the stack: converting the string would allocate
	sum := sha256.Sum256(buffer[:copy(buffer[:], presented)])
	owner, found := t.keys[sum]
	if !found {
		owner = nobody
	}
	same := subtle.ConstantTimeCompare(sum[:], owner.digest[:])
	if same&usable(owner, now) == 0 {
		return nil, nil, false
	}
	return owner.team, owner.key, true
}

// usable is 1 where neither key nor team is disabled and the key has not expired. Every condition is looked at each
// time, so that the time taken does not tell which failed.
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

// HasKey reports whether a key with this SHA-256 stands in the file, usable or not. The upstream key must not: a team
// that holds it could go around the gateway.
func (t *File) HasKey(sum [sha256.Size]byte) bool {
	_, found := t.keys[sum]
	return found
}
