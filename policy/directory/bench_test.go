package directory_test

import (
	"fmt"
	"testing"

	"sluice/policy/directory"
)

// BenchmarkAThousandTeams makes a change of a directory with a thousand teams, its entry included.
func BenchmarkAThousandTeams(b *testing.B) {
	d := directory.Document{Version: 1}
	for i := range 1000 {
		d.Teams = append(d.Teams, team(fmt.Sprintf("team-%04d", i), "description", `"a team"`, "rates", `{"requests":{"limit":600,"per":"1m"}}`, "concurrent", "32"))
	}
	s, err := directory.State{}.Next(d.Text(), directory.Entry{What: "directory.import"}, order)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		next, entry, err := directory.Apply(d, directory.AddKey{Team: "team-0500", Key: directory.NewKey{Minted: minted(b, 1), Now: noon}})
		if err == nil {
			_, err = s.Next(next.Text(), entry, order)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
