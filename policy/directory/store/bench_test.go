package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"sluice/policy/directory"
	"sluice/policy/directory/store"
	"sluice/policy/limit/limittest"
)

// BenchmarkAChangeOfAThousandTeams changes a directory in Redis, and then looks at it, as the console and the replica do.
func BenchmarkAChangeOfAThousandTeams(b *testing.B) {
	kept := store.NewRedis(limittest.RealRedis(b))
	order := directory.Order{Who: "operator", Now: time.Now(), Reason: "a benchmark"}
	commit := func(change func(directory.Document) directory.Change) {
		if _, err := directory.Commit(context.Background(), kept, order, func(d directory.Document) (directory.Change, error) { return change(d), nil }); err != nil {
			b.Fatal(err)
		}
	}
	member := func(value string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"description": json.RawMessage(value), "rates": json.RawMessage(`{"requests":{"limit":600,"per":"1m"}}`), "concurrent": json.RawMessage("32")}
	}
	commit(func(directory.Document) directory.Change {
		d := directory.Document{Version: 1}
		for i := range 1000 {
			d.Teams = append(d.Teams, directory.Team{ID: fmt.Sprintf("team-%04d", i), Members: member(`"a team"`)})
		}
		return directory.Import{Document: d}
	})
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		commit(func(directory.Document) directory.Change {
			return directory.ReplaceTeam{Team: directory.Team{ID: "team-0500", Members: member(fmt.Sprintf(`"change %d"`, n))}, Now: time.Now()}
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
