package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// beforeThisEdition is the last commit before the third edition. Its binary and today's share one Redis during an update, and
// after a rollback.
const beforeThisEdition = "89a80c6"

// oldBinary builds the binary of that commit.
func oldBinary(t *testing.T) string {
	t.Helper()
	if !isLong() {
		t.Skip("LONG=1 builds the binary of commit " + beforeThisEdition)
	}
	dir := t.TempDir()
	tree, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "archive", "--output", filepath.Join(dir, "old.tar"), beforeThisEdition).CombinedOutput()
	if err != nil {
		t.Skipf("git has no commit %s here: %v: %s", beforeThisEdition, err, tree)
	}
	must(t, exec.CommandContext(t.Context(), "tar", "-x", "-C", dir, "-f", filepath.Join(dir, "old.tar")).Run())
	binary := filepath.Join(dir, "old")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "./cmd/sluice")
	build.Dir = dir
	if said, err := build.CombinedOutput(); err != nil {
		t.Skipf("commit %s cannot be built here: %v: %s", beforeThisEdition, err, said)
	}
	return binary
}

// TestOldAndNewShareOneRedis: under load three replicas of one edition are replaced one after another by the other. No request
// fails except while its replica is stopped, no limit is exceeded, every task is known, and the accounts agree with the service's
// work: requests, images and tasks of each team, and tokens and money of all.
func TestOldAndNewShareOneRedis(t *testing.T) {
	old := oldBinary(t)
	lanes := []lane{
		{name: "requests", limits: "quotas: {requests: {month: 3000}}", workers: 34, limit: 3000, unit: "requests", request: oneText, streams: true, pause: 40 * time.Millisecond},
		{name: "images", limits: "quotas: {images: {month: 1500}, spend: {month: 300}}", workers: 20, limit: 1500, unit: "images", request: oneImage, pause: 40 * time.Millisecond},
		{name: "tasks", limits: "open_tasks: 600", workers: 10, limit: 600, request: oneTask, pause: 40 * time.Millisecond},
	}
	for about, binaries := range map[string][2]string{"old, then new": {old, os.Args[0]}, "new, then old": {os.Args[0], old}} {
		t.Run(about, func(t *testing.T) {
			r := newRaceOf(t, binaries[0], 3, 3, lanes, "SLUICE_REDIS_TIMEOUT=5s", "SLUICE_CONSOLE_LISTEN=off")
			r.well()
			h := r.heat(lanes)
			h.prepare()
			h.run()
			r.binary = binaries[1]
			for n, place := range []int{2, 0, 1} {
				h.reaches(0.2 * float64(n+1))
				h.tasksAreKnown()
				r.gates[place].Load().stop(t)
				r.launch(place, len(lanes))
			}
			h.well()
			h.isRefused(50)
			h.end()
			h.exact(about)
			h.tasksAreKnown()
			h.addsUp()
			for i := range h.counts {
				t.Logf("%s: %d admitted, %d refused, %d with 503, %d while a replica was stopped", lanes[i].name, h.counts[i].admitted.Load(), h.counts[i].refused.Load(), h.counts[i].away.Load(), h.counts[i].lost.Load())
			}
		})
	}
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
	h.Logf("the ledgers have %v, the service %d tokens more and %d images more than before", charged, done.Tokens-h.from.Tokens, done.Images-h.from.Images)
	if charged["tokens"] != done.Tokens-h.from.Tokens || charged["images"] != done.Images-h.from.Images || charged["spend"] != price*charged["images"] || charged["estimated"] != 0 {
		h.Errorf("the ledgers have %v, the service %d tokens and %d images", charged, done.Tokens-h.from.Tokens, done.Images-h.from.Images)
	}
}
