package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/simulator"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

// watchedDirectory is a watch of a directory in a file, looked at step by step.
type watchedDirectory struct {
	*directoryWatch
	store *breakable
	path  string
	now   time.Time
	teams *teams.File // in force
	log   bytes.Buffer
}

// breakable is a store that can be away.
type breakable struct {
	teams.Store
	away error
	cut  bool // a call fails when its context ends
}

func (b *breakable) Head(ctx context.Context) (string, error) {
	if b.cut {
		<-ctx.Done()
		return "", errors.New("use of closed network connection")
	}
	if b.away != nil {
		return "", b.away
	}
	return b.Store.Head(ctx)
}

func watchDirectory(t *testing.T) *watchedDirectory {
	t.Helper()
	file, err := teams.Parse([]byte(someTeams))
	must(t, err)
	w := &watchedDirectory{path: filepath.Join(t.TempDir(), "directory.json"), teams: file, now: testTime}
	w.store = &breakable{Store: store.NewFile(w.path, func() time.Time { return w.now })}
	w.directoryWatch = &directoryWatch{
		store: w.store, log: slog.New(slog.NewTextHandler(&w.log, nil)), now: func() time.Time { return w.now }, who: teams.Order{Who: "replica"},
		joined: store.NewLive(file, []teams.Digest{sha256.Sum256([]byte("sk-upstream"))}, time.Now, func(file *teams.File) { w.teams = file }),
	}
	w.start(t.Context())
	return w
}

// create adds a team to the store without the watch.
func (w *watchedDirectory) create(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		_, err := teams.Commit(t.Context(), w.store.Store, teams.Order{Who: "test", Now: w.now}, func(teams.Document) (teams.Change, error) {
			return teams.CreateTeam{Team: teams.Spec{ID: id, Members: map[string]json.RawMessage{"concurrent": json.RawMessage("3")}}}, nil
		})
		must(t, err)
	}
}

// A stop ends a look, which is no fault of the directory.
func TestAStopIsNoFaultOfTheDirectory(t *testing.T) {
	w := watchDirectory(t)
	w.store.cut = true
	w.log.Reset()
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, stop)
	w.look(ctx)
	if err := w.state(); err != nil || w.log.Len() > 0 {
		t.Errorf("%v; the log is %s", err, w.log.String())
	}
}

// expect looks once, and checks the teams in force and the state.
func (w *watchedDirectory) expect(t *testing.T, ids string, state string) {
	t.Helper()
	w.look(t.Context())
	var got []string
	for _, team := range w.teams.List {
		got = append(got, team.ID)
	}
	if diff := cmp.Diff(ids, strings.Join(got, " ")); diff != "" {
		t.Errorf("teams (-want +got):\n%s", diff)
	}
	if got := fmt.Sprint(w.state()); got != state {
		t.Errorf("state %q, want %q", got, state)
	}
}

func TestADirectoryIsFollowed(t *testing.T) {
	w := watchDirectory(t)
	w.expect(t, "search", "<nil>")
	w.create(t, "maps", "ads")
	w.expect(t, "search ads maps", "<nil>")
	file, err := teams.Parse([]byte("teams:\n  - id: maps\n"))
	must(t, err)
	w.joined.SetFile(file, []teams.Digest{sha256.Sum256([]byte("sk-upstream"))}, func(file *teams.File) { w.teams = file })
	w.expect(t, "maps ads",
		"not all of it is in force: team maps is in the teams file and in the directory: the file's counts; remove one of the two")
	if w.teams.Team("maps").Owner != teams.OwnerFile || w.teams.Team("ads").Owner != teams.OwnerDirectory {
		t.Error("the owners are wrong")
	}
}

func TestADirectoryThatIsAwayStaysInForceAndIsToldOfOnce(t *testing.T) {
	w := watchDirectory(t)
	w.create(t, "maps")
	w.expect(t, "search maps", "<nil>")
	for _, text := range []string{"one", "another"} {
		w.store.away = errors.New(text)
		w.expect(t, "search maps", "cannot be read: "+text+"; version 1 stays in force")
	}
	w.store.away = nil
	w.expect(t, "search maps", "<nil>")
	if n := strings.Count(w.log.String(), "cannot be read"); n != 1 {
		t.Errorf("it is told of %d times:\n%s", n, w.log.String())
	}
}

func TestADirectoryChangedWithoutAnEntryIsNotPutInForce(t *testing.T) {
	w := watchDirectory(t)
	w.create(t, "maps")
	w.expect(t, "search maps", "<nil>")
	text := fileText(t, w.path)
	put(t, w.path, strings.Replace(text, `"concurrent":3`, `"concurrent":9`, 1))
	w.now = w.now.Add(directoryFull) // the head is the same, so the next full look notices it
	const fault = "is faulty: the directory is not as entry 1 of its audit left it: it was changed without an entry; version 1 stays in force"
	w.expect(t, "search maps", fault)
	w.expect(t, "search maps", fault)
	if w.teams.Team("maps").Concurrent != 3 || strings.Count(w.log.String(), "directory refused") != 1 {
		t.Errorf("it is in force, or told of twice:\n%s", w.log.String())
	}
	put(t, w.path, text)
	w.now = w.now.Add(directoryFull)
	w.expect(t, "search maps", "<nil>")
}

// TestAnEntryAloneReloadsNothing: every cancel of a task adds an entry, and reloading a thousand teams takes half a second of CPU
// at every replica.
func TestAnEntryAloneReloadsNothing(t *testing.T) {
	w := watchDirectory(t)
	w.create(t, "maps")
	w.expect(t, "search maps", "<nil>")
	before := w.teams
	must(t, teams.Note(t.Context(), w.store.Store, teams.Order{Who: "test", Now: w.now}, teams.Entry{What: "task.cancel"}))
	w.expect(t, "search maps", "<nil>")
	is, err := w.store.Read(t.Context())
	must(t, err)
	if known, _, _ := w.joined.InForce(); w.teams != before || known.Head() != is.Head() ||
		strings.Count(w.log.String(), "directory loaded") != 1 {
		t.Errorf("teams loaded again: %v; the entry is known: %v\n%s", w.teams != before, known.Head() == is.Head(), w.log.String())
	}
	must(t, os.Remove(w.path))
	w.look(t.Context())
	is, err = w.store.Read(t.Context())
	must(t, err)
	if e, err := teams.ReadEntry(is.Last); err != nil || e.Seq != 3 || e.What != "directory.restore" {
		t.Errorf("written back with entry %d, %s, %v", e.Seq, e.What, err)
	}
}

// TestAFaultyDirectoryIsMended by taking it away: the process writes back what is in force.
func TestAFaultyDirectoryIsMended(t *testing.T) {
	w := watchDirectory(t)
	w.create(t, "maps")
	w.expect(t, "search maps", "<nil>")
	put(t, w.path, strings.Replace(fileText(t, w.path), `"concurrent":3`, `"concurrent":9`, 1))
	w.now = w.now.Add(directoryFull)
	w.look(t.Context())
	if _, err := teams.Commit(t.Context(), w.store.Store, teams.Order{Who: "test", Now: w.now}, func(d teams.Document) (teams.Change, error) {
		return teams.Import{Document: d, Force: true}, nil
	}); err == nil {
		t.Error("a change is built on it")
	}
	must(t, os.Remove(w.path))
	w.look(t.Context())
	w.expect(t, "search maps", "<nil>")
	w.create(t, "ads")
	w.expect(t, "search ads maps", "<nil>")
	if w.teams.Team("maps").Concurrent != 3 {
		t.Error("the change without an entry is in force")
	}
}

func TestAnOlderOrLostDirectoryIsWrittenBack(t *testing.T) {
	for about, lose := range map[string]func(w *watchedDirectory, older string){
		"an older copy": func(w *watchedDirectory, older string) { put(t, w.path, older) },
		"nothing":       func(w *watchedDirectory, _ string) { must(t, os.Remove(w.path)) },
	} {
		w := watchDirectory(t)
		w.create(t, "maps")
		older := fileText(t, w.path)
		w.create(t, "ads")
		w.expect(t, "search ads maps", "<nil>")
		lose(w, older)
		w.expect(t, "search ads maps", "<nil>")
		s, err := w.store.Read(t.Context())
		must(t, err)
		if d, err := s.Open(); err != nil || d.Version != 2 || len(d.Teams) != 2 {
			t.Errorf("%s: the store has version %d, %v", about, d.Version, err)
		}
		w.create(t, "news")
		w.expect(t, "search ads maps news", "<nil>")
		if strings.Count(w.log.String(), "directory restored") != 1 {
			t.Errorf("%s: logged\n%s", about, w.log.String())
		}
	}
}

func TestLastUseIsWrittenOnce(t *testing.T) {
	file, err := teams.Parse([]byte(someTeams))
	must(t, err)
	var u teams.LastUse
	u.Note("7f3k9q2m4x1c", testTime) // before any teams are known
	u.Follow(file)
	var wrote []map[string]time.Time
	note := func(_ context.Context, hours map[string]time.Time) error {
		wrote = append(wrote, hours)
		if len(wrote) == 1 {
			return errors.New("away")
		}
		return nil
	}
	u.Note("7f3k9q2m4x1c", testTime.Add(59*time.Minute))
	u.Note("unknown", testTime)
	u.Note("", testTime)
	for range 3 {
		u.Write(t.Context(), note)
	}
	u.Follow(file)
	u.Note("7f3k9q2m4x1c", testTime.Add(time.Minute))
	u.Write(t.Context(), note)
	u.Note("7f3k9q2m4x1c", testTime.Add(time.Hour))
	u.Write(t.Context(), note)
	at := map[string]time.Time{"7f3k9q2m4x1c": testTime}
	later := map[string]time.Time{"7f3k9q2m4x1c": testTime.Add(time.Hour)}
	if diff := cmp.Diff([]map[string]time.Time{at, at, later}, wrote); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func BenchmarkLastUse(b *testing.B) {
	file, err := teams.Parse([]byte(someTeams))
	if err != nil {
		b.Fatal(err)
	}
	var u teams.LastUse
	u.Follow(file)
	b.ReportAllocs()
	for b.Loop() {
		u.Note("7f3k9q2m4x1c", testTime)
	}
}

// TestDefaultsOfTheFileCloseNoTeamOfTheDirectory, not even one that has no tag when the defaults get quotas of a tag's values.
func TestDefaultsOfTheFileCloseNoTeamOfTheDirectory(t *testing.T) {
	w := watchDirectory(t)
	w.create(t, "maps")
	_, err := teams.Commit(t.Context(), w.store.Store, teams.Order{Who: "test", Now: w.now}, func(teams.Document) (teams.Change, error) {
		return teams.CreateTeam{Team: teams.Spec{ID: "untagged", Members: map[string]json.RawMessage{"tag_key": json.RawMessage(`"none"`)}}}, nil
	})
	must(t, err)
	w.expect(t, "search maps untagged", "<nil>")
	file, err := teams.Parse([]byte("defaults: {tag_key: project, tag_quotas: {images: {day: 9}}}\nteams:\n  - id: search\n"))
	must(t, err)
	w.joined.SetFile(file, []teams.Digest{sha256.Sum256([]byte("sk-upstream"))}, func(file *teams.File) { w.teams = file })
	w.expect(t, "search maps untagged", "<nil>")
	w.create(t, "later")
	w.expect(t, "search later maps untagged", "<nil>")
}

// A team of the directory that no account at the service serves is named in readiness and in the log, until one does.
func TestATeamOfTheDirectoryWithoutAnAccountIsNamed(t *testing.T) {
	t.Parallel()
	_, upstream := newService(t, simulator.Config{Keys: []string{"sk-main"}})
	dir := t.TempDir()
	path, accounts := filepath.Join(dir, "directory.json"), filepath.Join(dir, "accounts.yaml")
	put(t, filepath.Join(dir, "main"), "sk-main")
	put(t, accounts, "accounts:\n  - {id: main, key_file: main, teams: [search]}\n")
	h := serving(t, upstream.URL, "SLUICE_DIRECTORY_FILE="+path, "SLUICE_ACCOUNTS_FILE="+accounts, "SLUICE_TEAMS_POLL=500ms")
	defer h.stop()
	kept := store.NewFile(path, time.Now)
	_, err := teams.Commit(t.Context(), kept, teams.Order{Who: "test", Now: time.Now()}, func(teams.Document) (teams.Change, error) {
		return teams.CreateTeam{Team: teams.Spec{ID: "maps"}}, nil
	})
	must(t, err)
	const says = "team maps has no account: every account names other teams"
	eventually(t, func() bool { return strings.Contains(h.readiness(t), "\ndirectory: "+says) })
	eventually(t, func() bool { return strings.Count(string(h.log.bytes()), says) == 1 })
	put(t, accounts+".new", "accounts:\n  - {id: main, key_file: main}\n")
	must(t, os.Rename(accounts+".new", accounts))
	eventually(t, func() bool { return strings.Contains(h.readiness(t), "\ndirectory: ok\n") })
}
