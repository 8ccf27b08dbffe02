package teams_test

import (
	"testing"

	"sluice/policy/teams"
)

func TestATeamGoesWhenAllAreThroughWithIt(t *testing.T) {
	through := func(replica string, version int64) teams.Report {
		return teams.Report{Replica: replica, Version: version, Through: []string{"maps"}}
	}
	for _, tt := range []struct {
		about   string
		reports []teams.Report
		want    bool
	}{
		{"nobody has said anything", nil, false},
		{"the only one is through", []teams.Report{through("a", 5)}, true},
		{"both are", []teams.Report{through("a", 5), through("b", 6)}, true},
		{"one has an older version in force", []teams.Report{through("a", 5), through("b", 4)}, false},
		{"something is open at one", []teams.Report{through("a", 5), {Replica: "b", Version: 5, Through: []string{"ads"}}}, false},
	} {
		if got := teams.Removable(tt.reports, 5, "maps"); got != tt.want {
			t.Errorf("%s: %v", tt.about, got)
		}
	}
}
