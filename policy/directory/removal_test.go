package directory_test

import (
	"testing"

	"sluice/policy/directory"
)

func TestATeamGoesWhenAllAreThroughWithIt(t *testing.T) {
	through := func(replica string, version int64) directory.Report {
		return directory.Report{Replica: replica, Version: version, Through: []string{"maps"}}
	}
	for _, tt := range []struct {
		about   string
		reports []directory.Report
		want    bool
	}{
		{"nobody has said anything", nil, false},
		{"the only one is through", []directory.Report{through("a", 5)}, true},
		{"both are", []directory.Report{through("a", 5), through("b", 6)}, true},
		{"one has an older version in force", []directory.Report{through("a", 5), through("b", 4)}, false},
		{"something is open at one", []directory.Report{through("a", 5), {Replica: "b", Version: 5, Through: []string{"ads"}}}, false},
	} {
		if got := directory.Removable(tt.reports, 5, "maps"); got != tt.want {
			t.Errorf("%s: %v", tt.about, got)
		}
	}
}
