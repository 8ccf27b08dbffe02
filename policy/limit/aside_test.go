package limit

import (
	"testing"
	"time"

	"sluice/policy/teams"
	"sluice/policy/unit"
)

// What is set aside for several lost replicas is released one by one. A request waits for as many as it needs, and never beyond
// the period's end; running requests may release what they hold earlier.
func TestHowLongARequestWaitsForLostReplicas(t *testing.T) {
	quota := Standing{Unit: unit.NameImages, Period: teams.PeriodDay, Limit: 100, Used: 60, Reset: time.Hour}
	list := []Aside{{20, 50 * time.Minute}, {15, 20 * time.Minute}, {5, 2 * time.Hour}}
	for _, tt := range []struct {
		about string
		asked int64
		list  []Aside
		wait  time.Duration
	}{
		{"only what is held is in the way", 5, list[:2], 5 * time.Second},
		{"the first that comes back is enough", 15, list, 20 * time.Minute},
		{"two are needed", 35, list, 50 * time.Minute},
		{"the day ends before", 36, list, time.Hour},
	} {
		v := Verdict{Reason: ReasonQuota, Asked: tt.asked, Fault: quota, Wait: 5 * time.Second, Limits: []Standing{quota}}
		v.AddAside(tt.list)
		if v.Wait != tt.wait || v.Limits[0].Reset != tt.wait || v.Aside.Back > quota.Reset {
			t.Errorf("%s: %+v", tt.about, v)
		}
	}
}
