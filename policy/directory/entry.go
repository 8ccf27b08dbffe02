package directory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"sluice/policy/teams"
)

// KeptDays is how long entries are kept, in days.
const KeptDays = 400

// Entry is one entry of the audit. It contains no secret and no hash of a key. Its text has at most [MostEntry]: values that are too
// long are cut, which the entry says. The text is what the chain is made of: each
// entry has the SHA-256 of the text before it.
type Entry struct {
	Seq     int64           `json:"seq"` // 1 for the first
	Time    time.Time       `json:"time"`
	Who     string          `json:"who"`               // who ordered it, such as "command:alice"
	Address string          `json:"address,omitempty"` // where from
	What    string          `json:"what"`              // such as "team.change"
	Team    string          `json:"team,omitempty"`
	Key     string          `json:"key,omitempty"`    // the key's public part
	Reason  string          `json:"reason,omitempty"` // as it was given
	Before  json.RawMessage `json:"before,omitempty"` // what changed, as it was; nil: it was not there
	After   json.RawMessage `json:"after,omitempty"`  // as it is; nil: it is no longer there
	Version int64           `json:"version"`          // of the directory afterwards
	Digest  string          `json:"digest"`           // SHA-256 of the directory's text afterwards; empty: none
	Prev    string          `json:"prev"`             // SHA-256 of the text of the entry before; empty for the first
}

// Order is who orders a change, from where and when.
type Order struct {
	Who, Address string // one line each, of at most teams.MaxProse characters
	Reason       string // may be empty
	Now          time.Time
	// Most is how many bytes the entries of the changed team may have on this day in UTC, with those of others' orders. 0: any number.
	Most int64
}

// ReadEntry reads the text of an entry.
func ReadEntry(text []byte) (e Entry, err error) {
	if err := json.Unmarshal(text, &e); err != nil {
		return Entry{}, fmt.Errorf("an entry of the audit cannot be read: %w", err)
	}
	return e, nil
}

// Text is the entry as JSON, in one line.
func (e Entry) Text() []byte { return encode(e) }

// check refuses an order that must not be kept.
func (o Order) check() error {
	for field, text := range map[string]string{"who": o.Who, "address": o.Address, "reason": o.Reason} {
		if !teams.IsProse(text) || teams.HasPlainKey([]byte(text)) {
			return &Error{Invalid, field, fmt.Sprintf("allowed: one line of at most %d characters, without keys", teams.MaxProse), ""}
		}
	}
	if o.Who == "" {
		return &Error{Invalid, "who", "is missing", ""}
	}
	return nil
}

// State is what a [Store] keeps in one piece: the document, and the end of the trail that leads to it. The zero State is
// that of an empty store.
type State struct {
	Document []byte // the text in force; nil: none
	Last     []byte // the text of the last entry; nil: none
	First    int64  // the number of the oldest entry that is kept; 0: none
}

// Head is the SHA-256 of the last entry; empty: there is none. Any change changes it.
func (s State) Head() string {
	if s.Last == nil {
		return ""
	}
	return sumOf(s.Last)
}

// Open reads the document, if [State.Check] does not refuse it.
func (s State) Open() (Document, error) {
	digest, err := s.check()
	if err != nil || s.Document == nil {
		return Document{}, err
	}
	if known := latest.Load(); known != nil && known.digest == digest {
		return known.Document, nil
	}
	d, err := Read(s.Document)
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

// latest is the last one: a change, and everybody who looks after it, would read the same large text again.
var latest atomic.Pointer[opened]

// Check refuses a document that is not as the last entry says: it was changed without an entry. It does not read the document, which
// takes long for many teams.
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
	digest := digestOf(s.Document)
	if last.Digest != digest {
		return "", fmt.Errorf("the directory is not as entry %d of its audit left it: it was changed without an entry", last.Seq)
	}
	return digest, nil
}

func digestOf(document []byte) string {
	if document == nil {
		return ""
	}
	return sumOf(document)
}

// Next is the state after a change: the document's text, and the entry with its place in the chain. A nil text keeps the
// document: an entry may be about a change elsewhere, such as a correction of a team's usage.
func (s State) Next(document []byte, entry Entry, order Order) (State, error) {
	if document == nil || bytes.Equal(document, s.Document) {
		return s.next(s.Document, s.last().Version, entry, order)
	}
	d, err := Read(document)
	if err != nil {
		return s, faulty(err)
	}
	return s.next(document, d.Version, entry, order)
}

// next is [State.Next] with a document that was read and has this version.
func (s State) next(document []byte, version int64, entry Entry, order Order) (State, error) {
	if err := order.check(); err != nil {
		return s, err
	}
	entry.Seq, entry.Version = 1, version
	if s.Last != nil {
		last, err := ReadEntry(s.Last)
		if err != nil {
			return s, err
		}
		entry.Seq = last.Seq + 1
	}
	entry.Time, entry.Who, entry.Address, entry.Reason = order.Now.UTC(), order.Who, order.Address, order.Reason
	entry.Digest, entry.Prev = digestOf(document), s.Head()
	text := entry.Fitted().Text()
	if teams.HasPlainKey(text) {
		return s, &Error{Invalid, "", "the entry would contain a plain key", "this key has been seen, so mint another"}
	}
	return State{Document: document, Last: text, First: max(s.First, 1)}, nil
}
