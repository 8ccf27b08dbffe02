package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

// BenchmarkAChangeOfAThousandTeams changes a directory in Redis, and then looks at it, as the console and the replica do.
func BenchmarkAChangeOfAThousandTeams(b *testing.B) {
	kept := store.NewRedis(limittest.RealRedis(b))
	order := teams.Order{Who: "operator", Now: time.Now(), Reason: "a benchmark"}
	commit := func(change func(teams.Document) teams.Change) {
		if _, err := teams.Commit(context.Background(), kept, order,
			func(d teams.Document) (teams.Change, error) { return change(d), nil }); err != nil {
			b.Fatal(err)
		}
	}
	member := func(value string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"description": json.RawMessage(value),
			"rates": json.RawMessage(`{"requests":{"limit":600,"per":"1m"}}`), "concurrent": json.RawMessage("32")}
	}
	commit(func(teams.Document) teams.Change {
		d := teams.Document{Version: 1}
		for i := range 1000 {
			d.Teams = append(d.Teams, teams.Spec{ID: fmt.Sprintf("team-%04d", i), Members: member(`"a team"`)})
		}
		return teams.Import{Document: d}
	})
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		commit(func(teams.Document) teams.Change {
			return teams.ReplaceTeam{Team: teams.Spec{ID: "team-0500", Members: member(fmt.Sprintf(`"change %d"`, n))}, Now: time.Now()}
		})
		s, err := kept.Read(context.Background())
		if err == nil {
			_, err = s.Open()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
