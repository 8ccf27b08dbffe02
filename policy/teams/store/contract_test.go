package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

func TestMain(m *testing.M) {
	code := m.Run()
	limittest.StopRedis()
	os.Exit(code)
}

var (
	_ teams.Store = (*store.Redis)(nil)
	_ teams.Store = (*store.File)(nil)
)

// kept is a store and what the tests do to it behind its back.
type kept struct {
	teams.Store
	clock   func() time.Time
	another func() teams.Store    // a second process's store of the same directory
	age     func(days int)        // makes every entry older
	silence func(d time.Duration) // makes the reports of processes older
	drop    func(number int)      // drops an entry
	tamper  func(from, to string) // changes a text in the document
	lose    func()                // loses everything
}

// forms runs a test over both forms.
func forms(t *testing.T, test func(t *testing.T, k kept)) {
	t.Run("Redis", func(t *testing.T) {
		client := limittest.RealRedis(t)
		test(t, kept{
			Store:   store.NewRedis(client),
			clock:   time.Now,
			another: func() teams.Store { return store.NewRedis(client) },
			age:     func(days int) { ageStream(t, client, days) },
			silence: func(d time.Duration) {
				const key = "sl1:{sl1:directory}:replicas"
				for name, said := range client.HGetAll(t.Context(), key).Val() {
					_, text, _ := strings.Cut(said, " ")
					client.HSet(t.Context(), key, name, fmt.Sprint(time.Now().Add(-d).UnixMilli(), " ", text))
				}
			},
			drop: func(number int) {
				entries := client.XRange(t.Context(), auditKey, "-", "+").Val()
				client.XDel(t.Context(), auditKey, entries[number-1].ID)
			},
			tamper: func(from, to string) {
				document := client.HGet(t.Context(), "sl1:directory", "document").Val()
				client.HSet(t.Context(), "sl1:directory", "document", string(bytes.Replace([]byte(document), []byte(from), []byte(to), 1)))
			},
			lose: func() { client.FlushDB(t.Context()) },
		})
	})
	t.Run("file", func(t *testing.T) {
		dir := t.TempDir()
		path, now := filepath.Join(dir, "directory.json"), time.Now()
		clock := func() time.Time { return now }
		test(t, kept{
			Store:   store.NewFile(path, clock),
			clock:   clock,
			another: func() teams.Store { return store.NewFile(path, clock) },
			age:     func(days int) { now = now.AddDate(0, 0, days) },
			silence: func(d time.Duration) { now = now.Add(d) },
			drop: func(number int) {
				lines := bytes.SplitAfter(read(t, path+".audit"), []byte("\n"))
				write(t, path+".audit", bytes.Join(append(lines[:number-1:number-1], lines[number:]...), nil))
			},
			tamper: func(from, to string) { write(t, path, bytes.Replace(read(t, path), []byte(from), []byte(to), 1)) },
			lose: func() {
				for _, name := range []string{"", ".audit", ".used"} {
					_ = os.Remove(path + name)
				}
			},
		})
	})
}

const auditKey = "sl1:{sl1:directory}:audit"

// ageStream writes a stream's entries again with older ids.
func ageStream(t *testing.T, client redis.UniversalClient, days int) {
	t.Helper()
	entries := client.XRange(t.Context(), auditKey, "-", "+").Val()
	client.Del(t.Context(), auditKey)
	for i, e := range entries {
		id := fmt.Sprintf("%d-%d", time.Now().AddDate(0, 0, -days).UnixMilli(), i+1)
		values := []any{"seq", e.Values["seq"], "entry", e.Values["entry"]}
		if err := client.XAdd(t.Context(), &redis.XAddArgs{Stream: auditKey, ID: id, Values: values}).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// create adds a team to what a store has.
func create(s teams.Store, id string) error {
	order := teams.Order{Who: "test", Now: time.Now()}
	if k, ok := s.(kept); ok {
		order.Now = k.clock()
	}
	_, err := teams.Commit(context.Background(), s, order, func(teams.Document) (teams.Change, error) {
		return teams.CreateTeam{Team: teams.Spec{ID: id, Members: map[string]json.RawMessage{"description": json.RawMessage(`"Büro"`)}}}, nil
	})
	return err
}

// faultsOf proves the trail of a store.
func faultsOf(t *testing.T, s teams.Store) []string {
	t.Helper()
	var p teams.Proof
	for text, err := range s.Entries(t.Context(), false) {
		must(t, err)
		p.Add(text)
	}
	state, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p.Verify(state)
}

func teamsOf(t *testing.T, s teams.Store) (ids []string) {
	t.Helper()
	state, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d, err := state.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, team := range d.Teams {
		ids = append(ids, team.ID)
	}
	return ids
}

func TestAStoreIsEmptyAtFirst(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		head, err := k.Head(t.Context())
		if head != "" || err != nil || teamsOf(t, k) != nil || faultsOf(t, k) != nil {
			t.Errorf("head %q, %v", head, err)
		}
		if used, err := k.Used(t.Context()); len(used) != 0 || err != nil {
			t.Errorf("used: %v, %v", used, err)
		}
	})
}

func TestAChangeIsWrittenWithItsEntry(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		for _, id := range []string{"maps", "ads"} {
			before, err := k.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := create(k, id); err != nil {
				t.Fatal(err)
			}
			if after, err := k.another().Head(t.Context()); after == before || err != nil {
				t.Errorf("the head is still %q, %v", after, err)
			}
		}
		if diff := cmp.Diff([]string{"ads", "maps"}, teamsOf(t, k.another())); diff != "" {
			t.Error(diff)
		}
		if faults := faultsOf(t, k.another()); faults != nil {
			t.Error(faults)
		}
	})
}

func TestALostRaceChangesNothing(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		was, err := k.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := create(k.another(), "maps"); err != nil {
			t.Fatal(err)
		}
		next, err := was.Next([]byte("{\"version\":1,\n\"teams\":[]}\n"), teams.Entry{What: "x"}, teams.Order{Who: "test"})
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Write(t.Context(), was, next); !errors.Is(err, teams.ErrLost) {
			t.Errorf("the slower write: %v", err)
		}
		if faults := faultsOf(t, k); faults != nil || len(teamsOf(t, k)) != 1 {
			t.Error(faults, teamsOf(t, k))
		}
	})
}

func TestManyAtOnceLoseNothing(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		const processes, changes = 4, 5
		var all sync.WaitGroup
		for p := range processes {
			own := k.another()
			all.Go(func() {
				for c := range changes {
					err := create(own, fmt.Sprintf("team-%d-%d", p, c))
					for n := 0; err != nil && n < 100; n++ { // ten races were lost
						err = create(own, fmt.Sprintf("team-%d-%d", p, c))
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if got := len(teamsOf(t, k)); got != processes*changes {
			t.Errorf("%d teams, want %d", got, processes*changes)
		}
		if faults := faultsOf(t, k); faults != nil {
			t.Error(faults)
		}
	})
}

func TestOldEntriesAreRemovedAndTheRestIsProved(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		for _, id := range []string{"a", "b", "c"} {
			must(t, create(k, id))
		}
		k.age(teams.KeptDays + 1)
		for _, id := range []string{"d", "e"} {
			must(t, create(k, id))
		}
		count := 0
		for _, err := range k.Entries(t.Context(), false) {
			must(t, err)
			count++
		}
		if faults := faultsOf(t, k); faults != nil || count != 2 {
			t.Errorf("%d entries, %v", count, faults)
		}
	})
}

func TestTamperingIsFound(t *testing.T) {
	for number := 1; number <= 3; number++ {
		forms(t, func(t *testing.T, k kept) {
			for _, id := range []string{"a", "b", "c"} {
				must(t, create(k, id))
			}
			k.drop(number)
			must(t, create(k, "d")) // which must not hide it
			faults := faultsOf(t, k)
			if _, file := k.Store.(*store.File); file && number == 3 {
				if faults != nil {
					t.Errorf("the file itself still has the last entry, and yet: %v", faults)
				}
				return
			}
			if len(faults) != 1 || faults[0] != fmt.Sprintf("entries %d to %d are missing", number, number) {
				t.Errorf("entry %d was dropped: %v", number, faults)
			}
		})
	}
	forms(t, func(t *testing.T, k kept) {
		must(t, create(k, "a"))
		k.tamper(`"id":"a"`, `"id":"z"`)
		if faults := faultsOf(t, k); len(faults) != 1 {
			t.Errorf("the document was changed: %v", faults)
		}
		if err := create(k, "b"); err == nil {
			t.Error("a change is built on a document that was changed without an entry")
		}
	})
}

func TestALostDirectoryIsRestored(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		must(t, create(k, "a"))
		known, err := k.Read(t.Context())
		must(t, err)
		k.lose()
		has, err := k.Read(t.Context())
		must(t, err)
		next, err := teams.Restored(has, known, teams.Order{Who: "replica", Now: k.clock()})
		must(t, err)
		must(t, k.Write(t.Context(), has, next))
		if diff := cmp.Diff([]string{"a"}, teamsOf(t, k)); diff != "" {
			t.Error(diff)
		}
		must(t, create(k, "b"))
		if diff := cmp.Diff([]string{"entries 1 to 1 are missing"}, faultsOf(t, k)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLastUseIsKeptToTheHour(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		at := time.Date(2026, 11, 22, 12, 34, 56, 0, time.UTC)
		must(t, k.NoteUsed(t.Context(), nil))
		must(t, k.NoteUsed(t.Context(), map[string]time.Time{"a": at, "b": at}))
		must(t, k.another().NoteUsed(t.Context(), map[string]time.Time{"a": at.Add(-3 * time.Hour), "b": at.Add(3 * time.Hour)}))
		used, err := k.Used(t.Context())
		must(t, err)
		want := map[string]time.Time{"a": at.Truncate(time.Hour), "b": at.Add(3 * time.Hour).Truncate(time.Hour)}
		if diff := cmp.Diff(want, used); diff != "" {
			t.Error(diff)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestEntriesAgeAfterALossToo: a missing entry before one that is too old would be too old as well.
func TestEntriesAgeAfterALossToo(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		for _, id := range []string{"a", "b", "c"} {
			must(t, create(k, id))
		}
		k.drop(1)
		must(t, create(k, "d"))
		if faults := faultsOf(t, k); len(faults) != 1 || faults[0] != "entries 1 to 1 are missing" {
			t.Errorf("before: %v", faults)
		}
		k.age(teams.KeptDays + 1)
		must(t, create(k, "e"))
		count := 0
		for _, err := range k.Entries(t.Context(), false) {
			must(t, err)
			count++
		}
		if faults := faultsOf(t, k); faults != nil || count != 1 {
			t.Errorf("400 days later: %d entries, %v", count, faults)
		}
	})
}

// TestTheDaysEntriesOfATeamAreBounded: those of all processes together, until the day ends.
func TestTheDaysEntriesOfATeamAreBounded(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		order := teams.Order{Who: "test", Now: k.clock(), Most: 1000}
		note := func(s teams.Store, team string, at time.Time) error {
			o := order
			o.Now = at
			return teams.Note(t.Context(), s, o, teams.Entry{What: "task.cancel", Team: team})
		}
		var full *teams.Problem
		count := 0
		for ; count < 100; count++ {
			if err := note([]teams.Store{k, k.another()}[count%2], "a", order.Now); err != nil {
				if !errors.As(err, &full) || full.Code != teams.CodeFull {
					t.Fatal(err)
				}
				break
			}
		}
		s, err := k.Read(t.Context())
		must(t, err)
		written, err := k.another().Written(t.Context(), "a", order.Now)
		if size := len(s.Last); err != nil || written > 1000 || written+int64(size) <= 1000 || count < 2 {
			t.Errorf("%d entries of %d bytes, %d in all, %v", count, size, written, err)
		}
		must(t, note(k, "b", order.Now))
		order.Most = 0
		must(t, note(k, "a", order.Now))
		if more, err := k.Written(t.Context(), "a", order.Now); err != nil || more <= written {
			t.Errorf("an order without a bound is not counted: %d, %v", more, err)
		}
		order.Most = 1000
		must(t, note(k, "a", order.Now.AddDate(0, 0, 1)))
		if faults := faultsOf(t, k); faults != nil {
			t.Error(faults)
		}
	})
}

// TestWhatProcessesSay: the reports of processes are known to all, until they leave or are silent.
func TestWhatProcessesSay(t *testing.T) {
	forms(t, func(t *testing.T, k kept) {
		must(t, create(k, "maps"))
		says := func(s teams.Store, own teams.Report, want ...teams.Report) {
			t.Helper()
			got, err := s.Report(t.Context(), own)
			must(t, err)
			slices.SortFunc(got, func(a, b teams.Report) int { return strings.Compare(a.Replica, b.Replica) })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		a, b := teams.Report{Replica: "a", Version: 1}, teams.Report{Replica: "b", Version: 2, Through: []string{"maps"}}
		says(k, a, a)
		says(k.another(), b, a, b)
		a.Version, a.Through = 3, []string{"ads", "maps"}
		says(k, a, a, b)
		says(k.another(), b, a, b)
		a.Left = true
		says(k, a, b)
		says(k, a, b)
		a.Left = false
		says(k, a, a, b)
		k.silence(teams.ReportKept + time.Second)
		says(k.another(), b, b)
	})
}

// TestNothingIsWrittenWithoutADirectory: the gateway may not be allowed to write where its files are.
func TestNothingIsWrittenWithoutADirectory(t *testing.T) {
	dir := t.TempDir()
	own := teams.Report{Replica: "a"}
	got, err := store.NewFile(filepath.Join(dir, "directory.json"), time.Now).Report(t.Context(), own)
	must(t, err)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 || len(got) != 1 || got[0].Replica != "a" {
		t.Errorf("%v, %v, %v", entries, err, got)
	}
}
