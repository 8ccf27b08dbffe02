package teams

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"

	"sluice/policy/strictyaml"
)

// State is what a [Store] keeps in one piece: the document, and the end of the trail that leads to it. The zero State is
// that of an empty store.
type State struct {
	Document []byte // the text in force; nil: none
	Last     []byte // the text of the last entry; nil: none
	First    int64  // the number of the oldest entry that is kept; 0: none
	// Raises are the raises of teams of both owners: see [ReadRaises]. They are not in the document, because older versions read it
	// strictly. Nil: there was never one.
	Raises []byte
}

// Equal reports whether a state has the same document, raises and trail.
func (s State) Equal(other State) bool {
	return bytes.Equal(s.Last, other.Last) && bytes.Equal(s.Document, other.Document) && bytes.Equal(s.Raises, other.Raises)
}

// Head is the SHA-256 of the last entry; empty: no entry. Every change changes it.
func (s State) Head() string { return hexOf(s.Last) }

// Open reads the document, unless [State.Check] refuses it.
func (s State) Open() (Document, error) {
	digest, err := s.check()
	if err != nil || s.Document == nil {
		return Document{}, err
	}
	if known := latest.Load(); known != nil && known.digest == digest {
		return known.Document, nil
	}
	d, err := ReadDocument(s.Document)
	if err == nil {
		latest.Store(&opened{digest, d})
	}
	return d, err
}

// opened is a document that was read from the text with this digest.
type opened struct {
	digest string
	Document
}

// latest caches the last opened document: otherwise a change, and every reader after it, would parse the same large text again.
var latest atomic.Pointer[opened]

// Check refuses a document that does not match the last entry: it was changed without an entry. It does not parse the
// document, which takes long with many teams.
func (s State) Check() error {
	_, err := s.check()
	return err
}

// check is [State.Check], and returns the document's digest.
func (s State) check() (string, error) {
	if s.Document == nil && s.Last == nil {
		return "", nil
	}
	last, err := ReadEntry(s.Last)
	if err != nil {
		return "", err
	}
	digest := hexOf(s.Document)
	if last.Digest != digest {
		return "", fmt.Errorf("the directory is not as entry %d of its audit left it: it was changed without an entry", last.Seq)
	}
	if last.Raises != "" && last.Raises != hexOf(s.Raises) {
		return "", fmt.Errorf("the raises are not as entry %d of the audit left them: they were changed without an entry", last.Seq)
	}
	return digest, nil
}

// Next is the state after a change: the document's text, and the entry with its place in the chain. A nil text keeps the
// document: an entry may be about a change elsewhere, such as a correction of a team's usage.
func (s State) Next(document []byte, entry Entry, order Order) (State, error) {
	if document == nil || bytes.Equal(document, s.Document) {
		return s.next(s.Document, s.last().Version, entry, order)
	}
	d, err := ReadDocument(document)
	if err != nil {
		return s, problemOf(err)
	}
	return s.next(document, d.Version, entry, order)
}

// next is [State.Next] with a document that was already parsed and has this version.
func (s State) next(document []byte, version int64, entry Entry, order Order) (State, error) {
	if err := order.check(); err != nil {
		return s, err
	}
	last, err := s.readLast()
	if err != nil {
		return s, err
	}
	entry.Seq, entry.Version = last.Seq+1, version
	entry.Time, entry.Who, entry.Address, entry.Reason = order.Now.UTC(), order.Who, order.Address, order.Reason
	entry.Digest, entry.Prev = hexOf(document), s.Head()
	text := entry.Fitted().Text()
	if strictyaml.HasPlainKey(text) {
		return s, &Problem{Code: CodeInvalid, Text: "the entry would contain a plain key", Advice: "this key has been seen, so mint another"}
	}
	return State{Document: document, Raises: s.Raises, Last: text, First: max(s.First, 1)}, nil
}

// hexOf is the SHA-256 of a text in hexadecimal; empty: no text.
func hexOf(text []byte) string {
	if text == nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Lost reports whether a store with the state has lost changes that known includes: its document is older, or the same
// with an older end of its trail; or its raises are missing, because a process of a version without raises has
// restored it.
func Lost(has, known State) bool {
	if known.Last == nil {
		return false
	}
	if has.lostRaises(known) {
		return true
	}
	is, was := has.last(), known.last()
	if bytes.Equal(has.Document, known.Document) {
		return is.Seq < was.Seq
	}
	return is.Version < was.Version
}

// Before reports whether a state is older than another, by their last entries.
func (s State) Before(other State) bool {
	is, was := s.last(), other.last()
	return cmp.Or(cmp.Compare(is.Version, was.Version), cmp.Compare(is.Seq, was.Seq)) < 0
}

// readLast is the last entry; the zero Entry if the trail is empty.
func (s State) readLast() (last Entry, err error) {
	if s.Last != nil {
		last, err = ReadEntry(s.Last)
	}
	return last, err
}

// last is readLast for comparisons: an entry that cannot be read counts as none.
func (s State) last() Entry {
	last, _ := s.readLast()
	return last
}

// Restored is the state of a store after its repair, if it lost changes that known includes: known's document, with an entry
// about the restore. The numbers of the entries continue, so that lost ones are noticed.
func Restored(has, known State, order Order) (State, error) {
	entry := Entry{What: "directory.restore", Raises: hexOf(known.Raises)}
	if has.Last == nil {
		return known.Next(nil, entry, order)
	}
	last, err := ReadEntry(known.Last)
	if err != nil {
		return has, err
	}
	text, version := known.Document, last.Version
	if has.lostRaises(known) && !has.Before(known) { // only they are lost
		text, version = has.Document, has.last().Version
	}
	has.Raises = known.Raises
	next, err := has.Next(text, entry, order)
	if err != nil {
		return has, err
	}
	if entry, err = ReadEntry(next.Last); err != nil {
		return has, err
	}
	entry.Seq, entry.Version = max(entry.Seq, last.Seq+1), version
	next.Last = entry.Text()
	return next, nil
}

// lostRaises reports whether a store had raises that known includes: there is a text of them from the first one on.
func (s State) lostRaises(known State) bool { return s.Raises == nil && known.Raises != nil }
