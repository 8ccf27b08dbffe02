package teams_test

import (
	"fmt"
	"testing"

	"sluice/policy/teams"
)

// BenchmarkAThousandTeams makes a change of a directory with a thousand teams, its entry included.
func BenchmarkAThousandTeams(b *testing.B) {
	d := teams.Document{Version: 1}
	for i := range 1000 {
		d.Teams = append(d.Teams, spec(fmt.Sprintf("team-%04d", i), "description", `"a team"`, "rates", `{"requests":{"limit":600,"per":"1m"}}`,
			"concurrent", "32"))
	}
	s, err := teams.State{}.Next(d.Text(), teams.Entry{What: "directory.import"}, order)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		next, entry, err := teams.Apply(d, teams.AddKey{Team: "team-0500", Minted: minted(b, 1), Now: today})
		if err == nil {
			_, err = s.Next(next.Text(), entry, order)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
