package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cmd/sluice/files"
	"sluice/cmd/sluice/settings"
	"sluice/gateway/upstream"
	"sluice/policy/teams"
)

// otherTeams is someTeams after a change.
var otherTeams = strings.ReplaceAll(someTeams, "search", "ads")

// watched is a watch that runs in a bubble of synctest, with its results.
type watched struct {
	*watch
	teams    *teams.File     // last applied; nil before the first
	upstream files.Upstream  // last applied
	key      upstream.Secret // the first of the accounts' keys
	applied  int
	parsed   int
	log      bytes.Buffer
	hangups  chan os.Signal
	stop     context.CancelFunc
	ended    chan struct{}
}

// watchFiles starts a watch of a teams file, and of a key file if there is one, whose contents are already in force.
func watchFiles(t *testing.T, teamsPath, keyPath string) *watched {
	t.Helper()
	return watchSettings(t, settings.Settings{TeamsFile: teamsPath, UpstreamKeyFile: keyPath, UpstreamKey: "sk-first",
		TeamsPoll: 500 * time.Millisecond})
}

// watchSettings starts a watch of the files that settings name.
func watchSettings(t *testing.T, s settings.Settings) *watched {
	t.Helper()
	c := configuration{Settings: s, teams: &teams.File{}, First: files.At(watchedFiles(s), files.Look{})}
	w := &watched{hangups: make(chan os.Signal, 1), ended: make(chan struct{})}
	w.watch = newWatch(c, slog.New(slog.NewTextHandler(&w.log, nil)), func(file *teams.File, up files.Upstream) {
		w.teams, w.upstream, w.key = file, up, up.First()
		w.applied++
	}, func(bool) {})
	w.watch.judge = func(s settings.Settings, l *files.Look) (*teams.File, files.Upstream, settings.Faults) {
		w.parsed++
		return judge(s, l)
	}
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	go func() {
		defer close(w.ended)
		w.run(ctx, w.hangups)
	}()
	return w
}

// aSecond lets a second pass; a change must be in force within it.
func aSecond() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// end stops the watch; a bubble must not leave goroutines.
func (w *watched) end() {
	w.stop()
	<-w.ended
}

func (w *watched) logged(text string) int { return strings.Count(w.log.String(), text) }

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnUnchangedFileIsLeftAlone(t *testing.T) {
	path := write(t, someTeams)
	synctest.Test(t, func(t *testing.T) {
		w := watchFiles(t, path, "")
		defer w.end()
		aSecond()
		must(t, os.Chtimes(path, time.Now(), time.Now()))
		aSecond()
		if w.applied != 0 || w.log.Len() > 0 {
			t.Errorf("applied %d times, logged %q", w.applied, w.log.String())
		}
	})
}

func TestAChangeIsInForceWithinASecond(t *testing.T) {
	path := write(t, someTeams)
	synctest.Test(t, func(t *testing.T) {
		w := watchFiles(t, path, "")
		defer w.end()
		put(t, path, otherTeams)
		aSecond()
		if w.teams == nil || w.teams.Team("search") != nil || w.teams.Team("ads") == nil {
			t.Errorf("the removed team is still there; logged %q", w.log.String())
		}
	})
}

func TestAFaultyFileChangesNothingAndIsToldOfOnce(t *testing.T) {
	path := write(t, someTeams)
	synctest.Test(t, func(t *testing.T) {
		w := watchFiles(t, path, "")
		defer w.end()
		for _, faulty := range []string{"", someTeams[:len(someTeams)/2], someTeams + "colour: red\n", "teams: [", "\x00"} {
			w.log.Reset()
			put(t, path, faulty)
			for range 10 {
				aSecond()
			}
			if w.applied != 0 || w.state() == nil || w.logged("refused") != 1 {
				t.Errorf("%q: applied %d times, state %v, logged\n%s", faulty, w.applied, w.state(), w.log.String())
			}
		}
		if n := w.faulty.Load(); n != 5 || !strings.Contains(w.state().Error(), "5 refused") {
			t.Errorf("%d faulty files counted, state %v, want 5", n, w.state())
		}
		put(t, path, someTeams)
		aSecond()
		if w.applied != 1 || w.state() != nil {
			t.Errorf("mended: applied %d times, state %v", w.applied, w.state())
		}
	})
}

func TestAFileThatIsGoneKeepsTheTeams(t *testing.T) {
	path := write(t, someTeams)
	synctest.Test(t, func(t *testing.T) {
		w := watchFiles(t, path, "")
		defer w.end()
		must(t, os.Remove(path))
		aSecond()
		if w.applied != 0 || w.state() == nil || strings.Contains(w.state().Error(), path) {
			t.Errorf("applied %d times, state %v", w.applied, w.state())
		}
	})
}

func TestAFileThatIsBeingWrittenIsWaitedFor(t *testing.T) {
	path := write(t, someTeams)
	synctest.Test(t, func(t *testing.T) {
		w := watchFiles(t, path, "")
		defer w.end()
		two := otherTeams + strings.ReplaceAll(strings.TrimPrefix(strings.ReplaceAll(someTeams, "7f3", "8f3"), "teams:\n"), "9f8", "1f8")
		put(t, path, otherTeams) // a valid file, but half written
		time.Sleep(500*time.Millisecond + settle/2)
		put(t, path, two)
		aSecond()
		if w.applied != 1 || len(w.teams.List) != 2 {
			t.Errorf("applied %d times, want once with both teams; logged %q", w.applied, w.log.String())
		}
	})
}

func TestReplacedFilesAreSeen(t *testing.T) {
	for about, replace := range map[string]func(t *testing.T, path, content string){
		"written in place": put,
		"renamed over": func(t *testing.T, path, content string) {
			put(t, path+".new", content)
			must(t, os.Rename(path+".new", path))
		},
		"removed and written": func(t *testing.T, path, content string) {
			must(t, os.Remove(path))
			put(t, path, content)
		},
		"a symbolic link put in its place": func(t *testing.T, path, content string) {
			must(t, os.Remove(path))
			must(t, os.Symlink(write(t, content), path))
		},
	} {
		path := write(t, someTeams)
		synctest.Test(t, func(t *testing.T) {
			w := watchFiles(t, path, "")
			defer w.end()
			replace(t, path, otherTeams)
			aSecond()
			if w.applied != 1 || w.teams.Team("ads") == nil {
				t.Errorf("%s: applied %d times, logged %q", about, w.applied, w.log.String())
			}
		})
	}
}

// TestAMountedDirectoryIsSwapped acts like Kubernetes with a mounted ConfigMap: the file is a link through ..data,
// which is a link that is replaced by a rename.
func TestAMountedDirectoryIsSwapped(t *testing.T) {
	dir := t.TempDir()
	for version, content := range map[string]string{"..1": someTeams, "..2": otherTeams} {
		must(t, os.Mkdir(filepath.Join(dir, version), 0o700))
		put(t, filepath.Join(dir, version, "teams.yaml"), content)
	}
	must(t, os.Symlink("..1", filepath.Join(dir, "..data")))
	must(t, os.Symlink("..data/teams.yaml", filepath.Join(dir, "teams.yaml")))
	synctest.Test(t, func(t *testing.T) {
		w := watchFiles(t, filepath.Join(dir, "teams.yaml"), "")
		defer w.end()
		must(t, os.Symlink("..2", filepath.Join(dir, "..tmp")))
		must(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
		aSecond()
		if w.applied != 1 || w.teams.Team("ads") == nil {
			t.Errorf("applied %d times, logged %q", w.applied, w.log.String())
		}
	})
}

func TestANewUpstreamKeyIsTakenOver(t *testing.T) {
	const first, second, team, others = "CANARY-1-first-key", "CANARY-2-second-key", "CANARY-3-team-key", "CANARY-4-one\nCANARY-5-two"
	teams := strings.Replace(someTeams, testsDigest, fmt.Sprintf("%x", sha256.Sum256([]byte(team))), 1)
	path, key := write(t, teams), write(t, first+"\n")
	synctest.Test(t, func(t *testing.T) {
		w := watchFiles(t, path, key)
		defer w.end()
		put(t, key, second+"\n")
		aSecond()
		if w.key != second {
			t.Errorf("the key in force is %q", w.key.Reveal())
		}
		said := ""
		for about, content := range map[string]string{"empty": "", "two lines": others, "a team's": team} {
			put(t, key, content)
			aSecond()
			if w.key != second || w.state() == nil {
				t.Fatalf("%s: the key in force is %q, state %v", about, w.key.Reveal(), w.state())
			}
			said += w.state().Error()
		}
		if w.logged("refused") != 3 {
			t.Errorf("three files were refused, and it logs\n%s", w.log.String())
		}
		for _, secret := range append(strings.Split(others, "\n"), first, second, team) {
			sweep(t, "the log", w.log.String(), secret)
			sweep(t, "the state", said, secret)
		}
	})
}

// An accounts file, and the keys that it names, are read again and judged as the teams file is.
func TestNewAccountsAreTakenOver(t *testing.T) {
	const first, second, team = "CANARY-1-first-key", "CANARY-2-second-key", "CANARY-3-team-key"
	path := write(t, strings.Replace(someTeams, testsDigest, fmt.Sprintf("%x", sha256.Sum256([]byte(team))), 1))
	main, spare := write(t, first+"\n"), write(t, second)
	one := "accounts:\n  - {id: main, key_file: " + main + "}\n"
	accounts := write(t, one)
	synctest.Test(t, func(t *testing.T) {
		w := watchSettings(t, settings.Settings{TeamsFile: path, AccountsFile: accounts, TeamsPoll: 500 * time.Millisecond})
		defer w.end()
		aSecond()
		two := one + "  - {id: spare, key_file: " + spare + ", weight: 0}\n"
		put(t, accounts, two)
		aSecond()
		if w.applied != 1 || len(w.upstream.File.List) != 2 || w.upstream.Keys["spare"] != second {
			t.Fatalf("applied %d times: %+v; logged\n%s", w.applied, w.upstream, w.log.String())
		}
		put(t, spare, first+"2") // only a key file has changed
		aSecond()
		if w.applied != 2 || w.upstream.Keys["spare"] != first+"2" {
			t.Fatalf("applied %d times: %+v", w.applied, w.upstream)
		}
		said, refused := "", 0
		for about, change := range map[string]func(){
			"an empty key file": func() { put(t, spare, "") },
			"no key file":       func() { must(t, os.Remove(spare)) },
			"a team's key":      func() { put(t, spare, team) },
			"two lines":         func() { put(t, spare, first+"\n"+second) },
			"no accounts":       func() { put(t, accounts, "accounts: []") },
			"half an account":   func() { put(t, accounts, one+"  - {id: spare") },
			"no team's account": func() { put(t, accounts, strings.Replace(one, "}", ", teams: [ads]}", 1)) },
			"no file":           func() { must(t, os.Remove(accounts)) },
		} {
			before := w.applied
			change()
			aSecond()
			if refused++; w.applied != before || w.state() == nil || w.logged("refused, the previous one stays") != refused {
				t.Fatalf("%s: applied %d times, state %v, logged\n%s", about, w.applied, w.state(), w.log.String())
			}
			said += w.state().Error()
			put(t, accounts, two)
			put(t, spare, second)
			aSecond()
			if w.applied != before+1 || w.state() != nil || w.upstream.Keys["spare"] != second {
				t.Fatalf("%s, mended: applied %d times, state %v, %+v", about, w.applied, w.state(), w.upstream)
			}
		}
		for _, secret := range []string{first, second, team} {
			sweep(t, "the log", w.log.String(), secret)
			sweep(t, "the state", said, secret)
		}
	})
}

func TestAHangupLooksAtOnceAndTellsAgain(t *testing.T) {
	path := write(t, someTeams)
	synctest.Test(t, func(t *testing.T) {
		w := watchFiles(t, path, "")
		defer w.end()
		put(t, path, "teams: [")
		aSecond()
		for range 2 {
			w.hangups <- os.Interrupt
			time.Sleep(2 * settle)
			synctest.Wait()
		}
		if w.logged("refused") != 3 {
			t.Errorf("logged\n%s\nwant the fault once by itself and once for each signal", w.log.String())
		}
		put(t, path, otherTeams)
		w.hangups <- os.Interrupt
		time.Sleep(2 * settle)
		synctest.Wait()
		if w.applied != 1 {
			t.Errorf("applied %d times, want once and at once", w.applied)
		}
	})
}

// A new hook may come before the file of its secret: Kubernetes mounts ConfigMaps and Secrets at different times.
func TestAFileIsInForceOnceTheSecretOfItsHookIsThere(t *testing.T) {
	path := write(t, someTeams)
	secret := filepath.Join(filepath.Dir(path), "hook-jobs")
	synctest.Test(t, func(t *testing.T) {
		w := watchFiles(t, path, "")
		defer w.end()
		put(t, path, someTeams+"    hooks: [{id: jobs, url: \"https://hooks.example.com\", secret_file: hook-jobs, events: [task.succeeded]}]\n")
		for range 3 {
			aSecond()
		}
		if w.applied != 0 || w.state() == nil || w.logged("refused") != 1 || w.faulty.Load() != 1 {
			t.Fatalf("without the secret: applied %d times, state %v, logged\n%s", w.applied, w.state(), w.log.String())
		}
		put(t, secret, "a word")
		aSecond()
		if w.applied != 0 || !strings.Contains(w.state().Error(), "whsec_") || w.logged("refused") != 2 {
			t.Fatalf("with another fault: applied %d times, state %v, logged\n%s", w.applied, w.state(), w.log.String())
		}
		put(t, secret, "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz")
		aSecond()
		if w.applied != 1 || w.state() != nil {
			t.Errorf("with the secret: applied %d times, state %v, logged\n%s", w.applied, w.state(), w.log.String())
		}
		aSecond()
		if w.applied != 1 {
			t.Errorf("a content in force was applied again: %d times", w.applied)
		}
	})
}

// TestARefusedContentIsParsedOnce, whatever its fault is: thousands of teams take long, and a look is made twice a second.
func TestARefusedContentIsParsedOnce(t *testing.T) {
	const hook = "    hooks: [{id: jobs, url: \"https://hooks.example.com\", secret_file: hook-jobs, events: [task.succeeded]}]\n"
	for about, content := range map[string]string{
		"no YAML": "teams: [", "a bad id": strings.Replace(someTeams, "search", "No", 1), "another currency": "currency_digits: 6\n" + someTeams,
		"a hook without its secret": someTeams + hook, "both": strings.Replace(someTeams, "search", "No", 1) + hook,
	} {
		path := write(t, someTeams)
		synctest.Test(t, func(t *testing.T) {
			w := watchFiles(t, path, "")
			defer w.end()
			put(t, path, content)
			for range 10 {
				aSecond()
			}
			if w.parsed != 1 || w.applied != 0 || w.state() == nil {
				t.Errorf("%s: parsed %d times, applied %d times, state %v", about, w.parsed, w.applied, w.state())
			}
			put(t, path, otherTeams)
			aSecond()
			if w.parsed != 2 || w.applied != 1 || w.state() != nil {
				t.Errorf("%s, mended: parsed %d times, applied %d times, state %v", about, w.parsed, w.applied, w.state())
			}
		})
	}
}

// A FIFO in the file's place is another faulty content: the watch continues, and ends when it is stopped.
func TestTheReloadDoesNotWaitForAFIFO(t *testing.T) {
	path := write(t, someTeams)
	waiting := fifo(t)
	w := watchFiles(t, path, "")
	must(t, os.Rename(waiting, path))
	w.hangups <- syscall.SIGHUP
	eventually(t, func() bool { return w.state() != nil })
	if text := w.state().Error(); !strings.Contains(text, files.ErrKind.Error()) {
		t.Errorf("the state is %s", text)
	}
	w.end()
}
