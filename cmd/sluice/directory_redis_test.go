package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/cmd/sluice/settings"
	"sluice/gateway/simulator"
	"sluice/gateway/upstream"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

// documented gives a Redis the user of docs/operating.md, who may use only the ACL's commands, and returns that user's URL.
func documented(t *testing.T, server *redisServer) string {
	t.Helper()
	args := []any{"ACL", "SETUSER", "sluice"}
	for _, word := range strings.Fields(aclOf(t)) {
		args = append(args, word)
	}
	server.do(append(args, "on", ">secret")...)
	return "redis://sluice:secret@" + server.address()
}

// oneOff keeps no connection: it polls, and the admin listener takes few.
var oneOff = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}

// statusOf is the status of a request with a key, which is refused right after the key was judged.
func statusOf(t *testing.T, h *house, key string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.public+textURL, strings.NewReader("?"))
	must(t, err)
	request.Header.Set("Authorization", "Bearer "+key)
	answer, err := oneOff.Do(request)
	must(t, err)
	must(t, answer.Body.Close())
	return answer.StatusCode
}

// works waits until a key works, or until it does not, at each of the gateways.
func works(t *testing.T, key string, want bool, houses ...*house) {
	t.Helper()
	begun := time.Now()
	for i, h := range houses {
		wait(t, fmt.Sprintf("the key works at replica %d: %v", i, want), func() bool {
			return (statusOf(t, h, key) != http.StatusUnauthorized) == want
		})
	}
	if took := time.Since(begun); isLong() && took > 2*time.Second {
		t.Errorf("a change took %v", took)
	}
}

// redisDirectory is the directory in a Redis, changed as the console will.
type redisDirectory struct {
	*testing.T
	store teams.Store
}

func openDirectoryIn(t *testing.T, url string) redisDirectory {
	t.Helper()
	s, _ := settings.Load(nil)
	s.RedisURL, s.RedisTimeout = upstream.Secret(url), patience
	client := openRedis(s, slog.New(slog.DiscardHandler), nil, 0, nil)
	t.Cleanup(func() { _ = client.Close() })
	return redisDirectory{t, store.NewRedis(client)}
}

func (d redisDirectory) change(change teams.Change) {
	d.Helper()
	order := teams.Order{Who: "operator@example", Address: "192.0.2.7", Now: time.Now()}
	_, err := teams.Commit(context.Background(), d.store, order, func(teams.Document) (teams.Change, error) { return change, nil })
	must(d.T, err)
}

func newKey(t *testing.T) teams.MintedKey {
	t.Helper()
	key, err := teams.MintKey(rand.Reader)
	must(t, err)
	return key
}

// TestADirectorysKeyLivesAndDiesOnEveryReplica: from its minting to its end; and no stored or printed text contains it.
func TestADirectorysKeyLivesAndDiesOnEveryReplica(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	url := documented(t, server)
	_, upstream := newService(t, simulator.Config{})
	state := t.TempDir()
	file := "SLUICE_TEAMS_FILE=" + write(t, someTeams)
	var houses []*house
	for _, copies := range []string{"", state} {
		h := serving(t, upstream.URL, file, "SLUICE_REDIS_URL="+url, "SLUICE_REDIS_TIMEOUT=5s", "SLUICE_STATE_DIR="+copies)
		defer h.stop()
		houses = append(houses, h)
	}
	d, first, second := openDirectoryIn(t, url), newKey(t), newKey(t)
	d.change(teams.CreateTeam{Team: teams.Spec{ID: "maps"}})
	works(t, first.Reveal(), false, houses...)
	d.change(teams.AddKey{Team: "maps", Minted: first, Now: time.Now()})
	works(t, first.Reveal(), true, houses...)
	d.change(teams.AddKey{Team: "maps", Minted: second, Order: teams.KeyOrder{Replaces: first.ID, OldEnds: new(time.Now())}, Now: time.Now()})
	works(t, second.Reveal(), true, houses...)
	works(t, first.Reveal(), false, houses...)
	works(t, "test", true, houses...)

	all := map[string]string{"Redis": fmt.Sprint(server.do("HGETALL", "sl1:directory"),
		server.do("XRANGE", "sl1:{sl1:directory}:audit", "-", "+"))}
	for name, args := range map[string][]string{"export": {"directory", "export"}, "audit": {"audit"}, "entries": {"audit", "--json"},
		"proof": {"audit", "--verify"}} {
		got := command(t.Context(), []string{"SLUICE_REDIS_URL=" + url, file}, args...)
		if got.code != exitClean {
			t.Errorf("%s: %+v", name, got)
		}
		all[name] = got.text()
	}
	for i, h := range houses {
		all[fmt.Sprintf("log %d", i)] = string(h.log.bytes())
		all[fmt.Sprintf("readiness %d", i)] = h.readiness(t)
	}
	copied := filepath.Join(state, "directory.json") // it is written behind the version that is in force
	eventually(t, func() bool { return strings.Contains(fileText(t, copied), second.ID) })
	all["copy"] = fileText(t, copied)
	for where, text := range all {
		sweep(t, where, text, first.Reveal(), second.Reveal())
	}
	if !strings.Contains(all["readiness 0"], "\ndirectory: ok\n") {
		t.Error(all["readiness 0"])
	}
}

// TestALostDirectoryClosesNothing: Redis goes down, a replica starts meanwhile, and Redis returns empty.
func TestALostDirectoryClosesNothing(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	_, upstream := newService(t, simulator.Config{})
	settings := []string{"SLUICE_TEAMS_FILE=" + write(t, someTeams), "SLUICE_REDIS_URL=" + server.url(), "SLUICE_STATE_DIR=" + t.TempDir()}
	h := serving(t, upstream.URL, settings...)
	defer h.stop()
	key, removed := newKey(t), newKey(t)
	d := openDirectoryIn(t, server.url())
	d.change(teams.CreateTeam{Team: teams.Spec{ID: "maps"}})
	d.change(teams.AddKey{Team: "maps", Minted: removed, Now: time.Now()})
	d.change(teams.AddKey{Team: "maps", Minted: key, Now: time.Now()})
	d.change(teams.RemoveKey{Team: "maps", Key: removed.ID})
	works(t, key.Reveal(), true, h)
	wait(t, "the version in force", func() bool { return strings.Contains(string(h.log.bytes()), `"directory loaded","version":4`) })
	export := command(t.Context(), settings, "directory", "export").stdout

	server.kill()
	wait(t, "the fault is shown", func() bool {
		return strings.Contains(h.readiness(t), "version 4 stays in force")
	})
	started := serving(t, upstream.URL, settings...)
	defer started.stop()
	for _, each := range []*house{h, started} {
		if statusOf(t, each, key.Reveal()) == http.StatusUnauthorized {
			t.Error("a key of the directory does not work without Redis")
		}
		if statusOf(t, each, removed.Reveal()) != http.StatusUnauthorized {
			t.Error("a key that was removed works again without Redis")
		}
	}

	server.start() // no dump: its data is lost
	wait(t, "the directory is back", func() bool { return server.do("EXISTS", "sl1:directory") == int64(1) })
	if again := command(t.Context(), settings, "directory", "export"); again.stdout != export {
		t.Errorf("exported before\n%s\nand afterwards %+v", export, again)
	}
	if proof := command(t.Context(), settings, "audit", "--verify"); proof.code != exitFailure ||
		!strings.Contains(proof.stderr, "entries 1 to 4 are missing") {
		t.Errorf("the lost entries are not named: %+v", proof)
	}
	wait(t, "the fault is over", func() bool {
		return strings.Contains(h.readiness(t), "\ndirectory: ok\n")
	})
	works(t, key.Reveal(), true, h, started)
}

// readiness returns the answer of /readyz?verbose.
func (h *house) readiness(t *testing.T) string {
	t.Helper()
	status, text, err := ask(oneOff, "http://"+h.admin, "/readyz?verbose", "")
	if err != nil || status != http.StatusOK {
		t.Fatalf("%d %v", status, err)
	}
	return text
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}
