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

// Audit returns entries, the newest first; more reports whether there are older ones. One that cannot be read is left out, because it
// must not hide the others; the audit's proof names it.
func (r *Registry) Audit(ctx context.Context, p access.Person, q AuditQuery) (list []directory.Entry, more bool, err error) {
	if !p.SeesAll() {
		return nil, false, errNotAll
	}
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
		list = append(list, e)
		return true
	})
	return list, more, told(err)
}
