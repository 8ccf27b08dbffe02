package files

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/strictyaml"
	"sluice/policy/teams"
)

// dir makes a directory with files.
func dir(t *testing.T, contents map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range contents {
		put(t, filepath.Join(dir, name), content)
	}
	return dir
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

const two = "accounts: [{id: main, key_file: main}, {id: spare, key_file: spare, weight: 0, region: eu, url: https://eu.example/api/v1}]"

func TestKeysAreBesideTheAccountsFile(t *testing.T) {
	at := dir(t, map[string]string{"accounts.yaml": two, "main": "sk-main\n", "spare": "sk-spare", "teams.yaml": "teams: []"})
	l := At(Paths{Teams: filepath.Join(at, "teams.yaml"), Accounts: filepath.Join(at, "accounts.yaml"), Key: "unused"}, Look{})
	u, err := l.Upstream()
	if err != nil || u.Keys["main"] != "sk-main" || u.Keys["spare"] != "sk-spare" || u.First() != "sk-main" || len(u.Digests()) != 2 {
		t.Fatalf("%+v, %v", u, err)
	}
	base, _ := url.Parse("https://service.example/api/v1")
	want := []string{
		"account main: https://service.example/api/v1, key [redacted], models *, teams *, weight 1",
		"account spare: https://eu.example/api/v1, key [redacted], models *, teams *, weight 0, region eu",
	}
	if diff := cmp.Diff(want, u.Lines(base)); diff != "" {
		t.Errorf("shown (- want, + got):\n%s", diff)
	}
	if w := u.Warnings(nil); len(w) > 0 {
		t.Errorf("warnings %q", w)
	}
}

// A look differs from another if any content does, and what is the same is not parsed again.
func TestLooksDifferByContent(t *testing.T) {
	at := dir(t, map[string]string{"accounts.yaml": two, "main": "sk-main", "spare": "sk-spare", "teams.yaml": "teams: []"})
	paths := Paths{Teams: filepath.Join(at, "teams.yaml"), Accounts: filepath.Join(at, "accounts.yaml")}
	last := At(paths, Look{})
	if again := At(paths, last); again.Sum() != last.Sum() || again.Accounts != last.Accounts {
		t.Error("the same content is another look, or is parsed again")
	}
	for _, change := range []struct{ file, content string }{
		{"teams.yaml", "teams: [] #"},
		{"accounts.yaml", two + " #"},
		{"main", "sk-spare"},
		{"spare", "sk-main"},
		{"spare", ""},
		{"accounts.yaml", "accounts: []"},
		{"accounts.yaml", "accounts: [] #"},
	} {
		put(t, filepath.Join(at, change.file), change.content)
		next := At(paths, last)
		if next.Sum() == last.Sum() {
			t.Errorf("%s with %q is the same look", change.file, change.content)
		}
		last = next
	}
	must := filepath.Join(at, "accounts.yaml")
	if err := os.Remove(must); err != nil {
		t.Fatal(err)
	}
	if gone := At(paths, last); gone.Sum() == last.Sum() || !errors.Is(gone.AccountsErr, fs.ErrNotExist) {
		t.Errorf("without the file: %v", gone.AccountsErr)
	}
}

// Without an accounts file the key of the settings may be in a file.
func TestTheKeyOfTheSettings(t *testing.T) {
	at := dir(t, map[string]string{"key": "sk-main\r\n", "teams.yaml": "teams: []"})
	l := At(Paths{Teams: filepath.Join(at, "teams.yaml"), Key: filepath.Join(at, "key")}, Look{})
	if key := l.Keys[teams.MainAccount]; key.Secret != "sk-main" || key.Err != nil || l.Accounts != nil {
		t.Errorf("%+v", l)
	}
	before := l.Sum()
	put(t, filepath.Join(at, "key"), "sk-other")
	if l = At(Paths{Teams: filepath.Join(at, "teams.yaml"), Key: filepath.Join(at, "key")}, l); l.Sum() == before {
		t.Error("another key is the same look")
	}
}

func TestWarningsOfAccounts(t *testing.T) {
	at := dir(t, map[string]string{"accounts.yaml": two, "main": "sk-CANARY", "spare": "sk-CANARY\n"})
	if err := os.Chmod(filepath.Join(at, "spare"), 0o644); err != nil {
		t.Fatal(err)
	}
	l := At(Paths{Accounts: filepath.Join(at, "accounts.yaml")}, Look{})
	u, err := l.Upstream()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"spare has the same key as main, so that both share one account's limits and bill",
		"every user of this machine can read the key file of spare; chmod o-r",
	}
	file, err := teams.Parse([]byte("teams: [{id: search}, {id: ads, regions: [eu]}]"))
	if err != nil {
		t.Fatal(err)
	}
	want = append([]string{"team ads gets no new work, because each account that serves it has weight 0"}, want...)
	got := u.Warnings(file)
	if diff := cmp.Diff(want, got); diff != "" || strings.Contains(strings.Join(got, ""), "CANARY") {
		t.Errorf("warnings (- want, + got):\n%s", diff)
	}
}

func TestKeysThatCannotBeSent(t *testing.T) {
	for key, want := range map[string]bool{"sk-1": true, "~!": true, "": false, "a b": false, "a\n": false, "ä": false, "a\x7f": false} {
		at := dir(t, map[string]string{"a.yaml": "accounts: [{id: main, key_file: key}]", "key": key + "\n"})
		l := At(Paths{Accounts: filepath.Join(at, "a.yaml")}, Look{})
		_, err := l.Upstream()
		if bad, ok := errors.AsType[strictyaml.Faults](err); (err == nil) != want || !want && (!ok || bad[0].Field != "accounts[0].key_file") {
			t.Errorf("%q: %v", key, err)
		}
	}
}
