package registry

import (
	"context"
	"encoding/json"

	"sluice/gateway/console/access"
	"sluice/policy/directory"
)

// AuditQuery asks for entries of the audit.
type AuditQuery struct {
	Team   string // of one team; empty: all
	Before int64  // older than the entry with this number; 0: the newest
	Most   int    // how many
}

// mostAuditBytes is how long a page of the audit is as JSON, with what stands around the entries.
const mostAuditBytes = 1<<20 - 1024

// Audit returns entries, the newest first, fewer than asked for if they would have more than 1 MiB as JSON; more reports whether there
// are older ones. One that cannot be read is left out, because it must not hide the others; the audit's proof names it. An old one that
// is longer than all of that is shortened.
func (r *Registry) Audit(ctx context.Context, p access.Person, q AuditQuery) (list []directory.Entry, more bool, err error) {
	if !p.SeesAll() {
		return nil, false, errNotAll
	}
	size := 0
	err = r.Trail.Latest(ctx, func(text []byte) bool {
		e, bad := directory.ReadEntry(text)
		switch {
		case bad != nil:
			return true
		case q.Team != "" && e.Team != q.Team || q.Before > 0 && e.Seq >= q.Before:
			return true
		case len(list) == q.Most:
			more = true
			return false
		}
		e, length := shownEntry(e)
		if size += length; size > mostAuditBytes {
			more = true
			return false
		}
		list = append(list, e)
		return true
	})
	return list, more, told(err)
}

// shownEntry is an entry as a page has it, and its length there with what separates it from the next one.
func shownEntry(e directory.Entry) (directory.Entry, int) {
	length := func() int {
		text, err := json.Marshal(e)
		if err != nil { // every entry that was read can be written
			return mostAuditBytes
		}
		return len(text) + 1
	}
	n := length()
	if n > mostAuditBytes {
		e = e.Fitted()
		n = length()
	}
	return e, n
}
