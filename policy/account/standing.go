package account

import (
	"fmt"
	"strings"
	"time"
)

// IsIll reports whether an operator should look at the account: it is out, or cooling. Draining is intended.
func (s *Standing) IsIll() bool { return s.State == Out || s.State == Cooling }

// Line is the standing in one line, such as "out since 2026-11-26T08:20:00Z: Arrearage; weight 3, 2 in flight, key …f00d".
func (s *Standing) Line() string {
	var b strings.Builder
	b.WriteString(string(s.State))
	if !s.Since.IsZero() {
		fmt.Fprintf(&b, " since %s", moment(s.Since))
	}
	if s.Why != "" {
		fmt.Fprintf(&b, ": %s", s.Why)
	}
	for _, r := range s.Cooling {
		fmt.Fprintf(&b, "; %q until %s", r.Model, moment(r.Until))
	}
	fmt.Fprintf(&b, "; weight %d, %d in flight, key %s", s.Weight, s.InFlight, s.Key)
	return b.String()
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }
