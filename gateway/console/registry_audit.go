package console

import (
	"context"
	"encoding/json"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// AuditFilter selects entries of the audit.
type AuditFilter struct {
	Team string // empty: all
	Most int    // bounds the entries
}

// mostAuditBytes bounds the entries of a page as JSON.
const mostAuditBytes = 1<<20 - 1024

// Audit returns entries with numbers below before, newest first; 0: from the newest on. It returns fewer than requested if they exceed
// 1 MiB as JSON; more reports whether there are older ones. It leaves out unreadable entries, which must not hide the others; the audit's
// proof names them. An old entry that exceeds 1 MiB by itself is shortened.
func (r *Registry) Audit(ctx context.Context, p access.Person, f AuditFilter, before int64) (list []teams.Entry, more bool, err error) {
	if err := ofAll(p); err != nil {
		return nil, false, err
	}
	size := 0
	for text, err := range r.Directory.Entries(ctx, true) {
		if err != nil {
			return list, more, unusable(err)
		}
		e, bad := teams.ReadEntry(text)
		if bad != nil || f.Team != "" && e.Team != f.Team || before > 0 && e.Seq >= before {
			continue
		}
		e, length := shownEntry(e)
		if size += length; size > mostAuditBytes || len(list) == f.Most {
			return list, true, nil
		}
		list = append(list, e)
	}
	return list, false, nil
}

// ofAll refuses data of all teams to a person who does not see all.
func ofAll(p access.Person) error {
	if !p.SeesAll() {
		return errNotAll
	}
	return nil
}

// shownEntry returns an entry in the form of a page, and its length there with the separator.
func shownEntry(e teams.Entry) (teams.Entry, int) {
	length := func() int {
		text, err := json.Marshal(e)
		if err != nil { // cannot happen for an entry that was read
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

// Prove proves the audit, for a person who sees all of it. Faults are nil if it is intact; head is the SHA-256 of the last entry.
func (r *Registry) Prove(ctx context.Context, p access.Person) (entries int64, head string, faults []string, err error) {
	if err := ofAll(p); err != nil {
		return 0, "", nil, err
	}
	proof, s, err := teams.Prove(ctx, r.Directory)
	if err != nil {
		return 0, "", nil, unusable(err)
	}
	return proof.Count, s.Head(), proof.Verify(s), nil
}
