package failover

import (
	"fmt"
	"time"
)

// idAt is a request's id of that moment.
func idAt(at time.Time, n int) string {
	ms := fmt.Sprintf("%012x", at.UnixMilli())
	return fmt.Sprintf("%s-%s-7000-8000-%012x", ms[:8], ms[8:], n)
}
