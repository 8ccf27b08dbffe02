package registry

import (
	"context"

	"sluice/gateway/console/access"
	"sluice/policy/directory"
)

// AuditQuery asks for entries of the audit.
type AuditQuery struct {
	Team   string // of one team; empty: all
	Before int64  // older than the entry with this number; 0: the newest
	Most   int    // how many
}

// Audit returns entries, the newest first; more reports whether there are older ones.
func (r *Registry) Audit(ctx context.Context, p access.Person, q AuditQuery) (list []directory.Entry, more bool, err error) {
	if !p.SeesAll() {
		return nil, false, errNotAll
	}
	var bad error
	err = r.Trail.Latest(ctx, func(text []byte) bool {
		var e directory.Entry
		if e, bad = directory.ReadEntry(text); bad != nil {
			return false
		}
		switch {
		case q.Team != "" && e.Team != q.Team || q.Before > 0 && e.Seq >= q.Before:
			return true
		case len(list) == q.Most:
			more = true
			return false
		}
		list = append(list, e)
		return true
	})
	if err == nil {
		err = bad
	}
	return list, more, told(err)
}
