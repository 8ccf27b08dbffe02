package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/policy/teams"
)

// The commits whose binaries share one Redis with today's during an update, and after a rollback: the last one before the third edition,
// the last one before the limits and the ledger of keys, the kinds and the house, the last one that has all of those and no accounts at the
// service, and the one before this version, which .ci/upgrade names.
const (
	beforeThisEdition = "89a80c6"
	beforeKeys        = "47d878f"
	beforeAccounts    = "a9eb36a"
)

var versionBefore = os.Getenv("UPGRADE_FROM") // empty: it is not tried

// oldBinary builds the binary of a commit.
func oldBinary(t *testing.T, commit string) string {
	t.Helper()
	if !isLong() {
		t.Skip("LONG=1 builds the binary of commit " + commit)
	}
	dir := t.TempDir()
	tree, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "archive", "--output", filepath.Join(dir, "old.tar"), commit).
		CombinedOutput()
	if err != nil {
		t.Skipf("git has no commit %s here: %v: %s", commit, err, tree)
	}
	must(t, exec.CommandContext(t.Context(), "tar", "-x", "-C", dir, "-f", filepath.Join(dir, "old.tar")).Run())
	binary := filepath.Join(dir, "old")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "./cmd/sluice")
	build.Dir = dir
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("commit %s cannot be built here: %v: %s", commit, err, said)
	}
	return binary
}

// TestOldAndNewShareOneRedis: under load three replicas of one edition are replaced one after another by the other. No request
// fails except while its replica is stopped, no limit is exceeded, every task is known, and the accounts agree with the service's
// work: requests, images and tasks of each team, images of each value of a tag, and tokens and money of all. Then all tasks end, and
// replicas of one edition settle what those of the other hold. Today's replicas read a file that has limits of keys and of the house, too:
// once they are alone the house has what all teams used. If both editions know those limits, the quotas of the house, its teams, their
// keys and tags bind at once all the while.
func TestOldAndNewShareOneRedis(t *testing.T) {
	const pause, manyImages = 40 * time.Millisecond, 1_000_000
	lanes := []lane{
		{name: "requests", limits: "quotas: {requests: {month: 3000}}", workers: 34, limit: 3000, unit: "requests", request: oneText,
			streams: true, pause: pause},
		{name: "images", limits: "quotas: {images: {month: 1500}, spend: {month: 300}}", workers: 20, limit: 1500, unit: "images",
			request: oneImage, pause: pause},
		{name: "tasks", limits: "open_tasks: 600", workers: 10, limit: 600, request: oneTask, pause: pause},
	}
	parts := lane{name: "parts", limits: partLimits(900, 470), workers: 18, limit: 900, unit: "images", request: oldTask, pause: pause,
		parts: 470}
	for commit, tt := range map[string]struct {
		lanes      []lane
		house, new int64 // of both editions, and of today's
	}{
		beforeThisEdition: {lanes, 0, manyImages}, beforeKeys: {append(lanes[:3:3], parts), 0, manyImages},
		beforeAccounts: {append(lanes[:3:3], parts), 2650, 2650}, versionBefore: {append(lanes[:3:3], parts), 2650, 2650},
	} {
		if commit == "" {
			continue
		}
		t.Run(commit, func(t *testing.T) {
			old, today, lanes := oldBinary(t, commit), gatewayBinary(t), tt.lanes
			files := map[string]string{old: write(t, raceTeams(lanes, tt.house)), today: write(t, raceTeams(lanes, tt.new))}
			for about, binaries := range map[string][2]string{"old, then new": {old, today}, "new, then old": {today, old}} {
				t.Run(about, func(t *testing.T) {
					r := newRaceOf(t, binaries[0], 3, 3, lanes, tt.house, "SLUICE_REDIS_TIMEOUT=5s", "SLUICE_CONSOLE_LISTEN=off",
						"SLUICE_TEAMS_FILE="+files[binaries[0]])
					h := r.replaced(about, lanes, binaries[1], files[binaries[1]])
					if binaries[1] == old || tt.house > 0 {
						return
					}
					f := h.houseFigures()
					wait(t, "the house has what all teams used", func() bool {
						used, held := usedIn(r.server.admin, teams.HouseID, "images")
						return used+held >= f.upstream
					})
				})
			}
		})
	}
}

// replaced replaces the replicas under load, and checks the accounts.
func (r *race) replaced(about string, lanes []lane, binary, file string) *heat {
	r.Helper()
	r.well()
	h := r.heat(lanes)
	h.prepare()
	h.run()
	r.binary, r.environ = binary, append(r.environ, "SLUICE_TEAMS_FILE="+file)
	for n, place := range []int{2, 0, 1} {
		h.reaches(0.2 * float64(n+1))
		h.tasksAreKnown()
		r.gates[place].Load().stop(r.T)
		r.launch(place, len(lanes))
	}
	h.well()
	h.isRefused(50)
	h.end()
	h.exact(about)
	h.tasksAreKnown()
	r.ahead.Store(int64(2 * time.Hour))
	wait(r.T, "every task is settled", func() bool {
		h.tasksAreKnown()
		return !slices.ContainsFunc(h.figures(), func(f results) bool { return f.open > 0 })
	})
	h.exact(about + ", tasks ended")
	h.addsUp()
	for i := range h.counts {
		c := &h.counts[i]
		r.Logf("%s: %d admitted, %d refused, %d with 503, %d while a replica was stopped", lanes[i].name, c.admitted.Load(), c.refused.Load(),
			c.away.Load(), c.lost.Load())
	}
	return h
}

// addsUp compares tokens and money of all ledgers with the service's work, and the quotas with ledgers and open holds.
func (h *heat) addsUp() {
	h.Helper()
	const price = 200_000_000 // of a picture, as the ledger writes 0.20
	charged, now := map[string]int64{}, time.Now().UTC()
	for i := range h.lanes {
		team, f := h.lanes[i].team(h.n), h.figuresOf(i)
		for _, day := range []time.Time{now, now.AddDate(0, 0, -1)} {
			for field, text := range pairs(h.server.do("HGETALL", "sl1:{"+team+"}:use:"+day.Format("20060102"))) {
				n, _ := strconv.ParseInt(text, 10, 64)
				charged[field[strings.LastIndexByte(field, '|')+1:]] += n
			}
		}
		unit := cmp.Or(h.lanes[i].unit, "images") // a task is of one picture
		if used, held := usedIn(h.server.admin, team, unit); used != f.ledger || held != f.open {
			h.Errorf("%s: the quotas have %d used and %d held, the ledger %d and the holds %d", team, used, held, f.ledger, f.open)
		}
	}
	done := h.service.Tally()
	h.Logf("the ledgers have %v, the service %d tokens more and %d images more than before", charged, done.Tokens-h.from.Tokens,
		done.Images-h.from.Images)
	if charged["tokens"] != done.Tokens-h.from.Tokens || charged["images"] != done.Images-h.from.Images ||
		charged["spend"] != price*charged["images"] || charged["estimated"] != 0 {
		h.Errorf("the ledgers have %v, the service %d tokens and %d images", charged, done.Tokens-h.from.Tokens, done.Images-h.from.Images)
	}
}
