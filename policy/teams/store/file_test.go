package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

// someFile is a store with two teams, and its path.
func someFile(t *testing.T) (*store.File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "directory.json")
	f := store.NewFile(path, time.Now)
	must(t, create(f, "a"))
	must(t, create(f, "b"))
	return f, path
}

func TestFilesAreReadableByTheirOwnerAlone(t *testing.T) {
	f, path := someFile(t)
	must(t, f.NoteUsed(t.Context(), map[string]time.Time{"a": time.Now()}))
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	must(t, err)
	if len(names) != 4 {
		t.Errorf("the files are %q", names)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", filepath.Base(name), info.Mode(), err)
		}
	}
}

// TestACrashLosesNoEntry: the process ended after the rename and before the audit's file was written, or while.
func TestACrashLosesNoEntry(t *testing.T) {
	for about, crash := range map[string]func(audit string) string{
		"before": func(audit string) string { return strings.SplitAfter(audit, "\n")[0] },
		"while":  func(audit string) string { return audit[:len(audit)-9] },
	} {
		f, path := someFile(t)
		write(t, path+".audit", []byte(crash(string(read(t, path+".audit")))))
		if faults := faultsOf(t, f); faults != nil {
			t.Errorf("%s: %v", about, faults)
		}
		must(t, create(f, "c"))
		if faults := faultsOf(t, f); faults != nil {
			t.Errorf("%s, after one more change: %v", about, faults)
		}
	}
}

func TestAFileThatIsNoDirectoryIsAFault(t *testing.T) {
	for _, text := range []string{"", "{", "{}", `{"version":1,"teams":[]}`,
		`{"version":1,"teams":[],"prices":[],"audit":{"first":1,"last":{"seq":1}}}`, "teams: []"} {
		path := filepath.Join(t.TempDir(), "directory.json")
		write(t, path, []byte(text))
		f := store.NewFile(path, time.Now)
		for about, err := range map[string]error{"head": second(f.Head(t.Context())), "read": second(f.Read(t.Context())),
			"change": create(f, "a")} {
			if err == nil || !strings.Contains(err.Error(), "is not a directory that Sluice wrote; to change one, use sluice directory import") {
				t.Errorf("%s of %q: %v", about, text, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestAPathThatCannotBeWrittenIsNotShown(t *testing.T) {
	f := store.NewFile(filepath.Join(t.TempDir(), "CANARY", "directory.json"), time.Now)
	if err := create(f, "a"); err == nil || strings.Contains(err.Error(), "CANARY") {
		t.Error(err)
	}
}

func TestACopyIsTheState(t *testing.T) {
	f, _ := someFile(t)
	s, err := f.Read(t.Context())
	must(t, err)
	path := filepath.Join(t.TempDir(), "copy")
	if empty, err := store.Load(path); err != nil || empty.Last != nil {
		t.Error("a missing copy:", err)
	}
	for range 2 {
		must(t, store.Save(path, s))
	}
	again, err := store.Load(path)
	must(t, err)
	if again.Head() != s.Head() || string(again.Document) != string(s.Document) || again.First != s.First {
		t.Errorf("it is %+v", again)
	}
	noted, err := s.Next(nil, teams.Entry{What: "usage.adjust"}, teams.Order{Who: "test"})
	must(t, err)
	empty, err := teams.State{}.Next(nil, teams.Entry{What: "usage.adjust"}, teams.Order{Who: "test"})
	must(t, err)
	for _, s := range []teams.State{noted, empty} {
		must(t, store.Save(path, s))
		again, err := store.Load(path)
		must(t, err)
		if _, err := again.Open(); err != nil || again.Head() != s.Head() {
			t.Error(err)
		}
	}
}
