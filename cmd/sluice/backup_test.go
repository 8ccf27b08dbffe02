package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A month's ledger is the same in a Redis that begins with a copy, as docs/start.md says to make and to restore it, and stays when that restarts.
func TestABackupOfRedisIsRestored(t *testing.T) {
	page := readRoot(t, "docs/start.md")
	for _, said := range []string{"--rdb - > backup.rdb", "redis-cli --user backup --rdb -' > backup.rdb", "`appendonly no`", "`redis-cli config set appendonly yes`"} {
		if !strings.Contains(page, said) {
			t.Errorf("docs/start.md does not say %s", said)
		}
	}
	if _, err := exec.LookPath("redis-cli"); err != nil {
		t.Skip("redis-cli is not installed")
	}
	server := startRedis(t, "--appendonly", "yes")
	for team := range 20 {
		for day := 1; day <= 31; day++ {
			server.do("HSET", fmt.Sprintf("sl1:{team%d}:use:202610%02d", team, day), "day", day, "qwen|text|tokens", day*1000, "qwen|text|requests", day)
		}
	}
	server.do("ZADD", "sl1:{team0}:open", 1, "a")
	server.do("APPEND", "sl1:{team0}:settled:0190a1b2", " 0123456789ab ")
	all := func() (texts []string) {
		for _, key := range server.do("KEYS", "*").([]any) {
			texts = append(texts, fmt.Sprint(key, " ", server.do("DUMP", key)))
		}
		slices.Sort(texts)
		return texts
	}
	before := all()
	server.do("CONFIG", "SET", "requirepass", "secret")
	copying := regexp.MustCompile(`(?m)^REDISCLI_AUTH=.* redis-cli -h redis.example --rdb - > backup.rdb$`).FindString(page)
	backup := exec.Command("sh", "-c", strings.Replace(copying, "redis.example", strings.Replace(server.address(), ":", " -p ", 1), 1))
	backup.Dir = t.TempDir()
	must(t, os.WriteFile(filepath.Join(backup.Dir, "redis-url"), []byte("redis://:secret@redis.example:6379\n"), 0o600))
	if said, err := backup.CombinedOutput(); copying == "" || err != nil {
		t.Fatalf("%q: %v: %s", copying, err, said)
	}
	text, err := os.ReadFile(filepath.Join(backup.Dir, "backup.rdb"))
	must(t, err)
	server.kill()
	must(t, os.RemoveAll(filepath.Join(server.dir, "appendonlydir")))
	must(t, os.WriteFile(filepath.Join(server.dir, "dump.rdb"), text, 0o600))
	server.args = []string{"--appendonly", "no"}
	server.start()
	server.do("CONFIG", "SET", "appendonly", "yes")
	wait(t, "the append-only file is written", func() bool {
		info := fmt.Sprint(server.do("INFO", "persistence"))
		return strings.Contains(info, "aof_enabled:1") && strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0")
	})
	must(t, os.Remove(filepath.Join(server.dir, "dump.rdb")))
	server.kill()
	server.args = []string{"--appendonly", "yes"}
	server.start()
	if after := all(); len(after) != 20*31+2 || !slices.Equal(before, after) {
		t.Errorf("%d keys before, %d after", len(before), len(after))
	}
}
