package limit_test

import (
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// A refusal names its cause: running requests, other replicas, or a lost replica, and until when.
func TestARefusalSaysWhatIsSetAside(t *testing.T) {
	const wait, back = 5 * time.Second, time.Hour
	quota := limit.Standing{Unit: unit.NameImages, Period: teams.PeriodDay, Per: "day", Limit: 1000, Left: 58, Reset: 12 * time.Hour}
	tasks := limit.Standing{Limit: 30, Used: 28}
	aside := limit.Aside{Amount: 2, Back: back}
	const ofQuota, lost = "Team search has 58 left of its quota images-day of 1000, and this request may cost ",
		"2 are set aside for a replica that is not heard from, until it is back or for 1h0m0s"
	for want, v := range map[string]limit.Verdict{
		ofQuota + "60; running requests hold the rest, which may be free in 5s.": {
			Reason: limit.ReasonQuota, Fault: quota, Asked: 60, Wait: wait,
		},
		ofQuota + "4; what is left is set aside for other replicas, which may give it back in 5s.": {
			Reason: limit.ReasonQuota, Fault: quota, Asked: 4, Wait: wait,
		},
		ofQuota + "4; " + lost + ".": {Reason: limit.ReasonQuota, Fault: quota, Asked: 4, Wait: back, Aside: aside},
		ofQuota + "4; " + lost + "; running requests may make room in 5s.": {
			Reason: limit.ReasonQuota, Fault: quota, Asked: 4, Wait: wait, Aside: aside,
		},
		"Team search has 28 open tasks and may have 30; the next fits when one of them ends.": {
			Reason: limit.ReasonTasks, Fault: tasks, Asked: 1, Wait: wait,
		},
		"Team search has 28 open tasks and may have 30; 2 more are set aside for a replica that is not heard from, until it is back or for " +
			"1h0m0s; " +
			"running requests may make room in 5s.": {Reason: limit.ReasonTasks, Fault: tasks, Asked: 1, Wait: wait, Aside: aside},
	} {
		if got := v.Explain(&limit.Hold{Team: &teams.Team{ID: "search"}}); got != want {
			t.Errorf("it says %q; want\n%q", got, want)
		}
	}
}
