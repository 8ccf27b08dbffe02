package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

// The hours of keys that no team has any more are removed after a month.
func TestHoursOfRemovedKeysAreForgotten(t *testing.T) {
	file, err := teams.Parse([]byte(someTeams))
	must(t, err)
	kept := store.NewFile(filepath.Join(t.TempDir(), "directory.json"), time.Now)
	var u lastUse
	u.follow(file)
	long := testTime.Add(-forgetAfter - time.Hour)
	must(t, kept.NoteUsed(t.Context(), map[string]time.Time{"7f3k9q2m4x1c": long, "removedlongg": long, "removedrecen": testTime}))
	must(t, u.forget(t.Context(), testTime, kept))
	used, err := kept.Used(t.Context())
	must(t, err)
	if diff := cmp.Diff(map[string]time.Time{"7f3k9q2m4x1c": long, "removedrecen": testTime}, used); diff != "" {
		t.Error(diff)
	}
}

func TestAnInputThatIsTooLargeIsRefused(t *testing.T) {
	if _, err := readAll(strings.NewReader(strings.Repeat("#", maxFile+1))); err == nil {
		t.Error("an input is cut")
	}
	if text, err := readAll(strings.NewReader("teams: []")); err != nil || string(text) != "teams: []" {
		t.Errorf("%q, %v", text, err)
	}
}
