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

	"github.com/redis/go-redis/v9"
)

// A month's ledger is the same in the composition's Redis that begins with a copy, by the commands of docs/start.md, and stays when that
// restarts.
func TestABackupOfRedisIsRestored(t *testing.T) {
	if _, err := exec.LookPath("redis-cli"); err != nil {
		t.Skip("redis-cli is not installed")
	}
	const page = "docs/start.md"
	inContainer := regexp.MustCompile(`(?s) -ec '(.+?)'`)
	for _, way := range []string{"backup", "composition-backup"} {
		t.Run(way, func(t *testing.T) {
			secret := write(t, "redis://:0123456789abcdefABCDEF@redis:6379\n")
			there := strings.NewReplacer("$$", "$", "/run/secrets/redis-url", secret)
			server := startComposed(t, there.Replace(readYAML[composition](t, "compose.yaml").Services["redis"].Command[2]))
			client := redis.NewClient(&redis.Options{Addr: server.address(), Password: "0123456789abcdefABCDEF", DialTimeout: patience,
				ReadTimeout: patience})
			t.Cleanup(func() { _ = client.Close() })
			fill(t, client)
			before := filled(t, client)

			dir := t.TempDir()
			run := func(script string) {
				t.Helper()
				script = strings.NewReplacer("/data", server.dir, "/run/secrets/redis-url", secret, "redis-cli",
					fmt.Sprintf("redis-cli -p %d", server.port),
					" -h redis.example", " --user backup").Replace(script)
				shell := exec.CommandContext(t.Context(), "sh", "-ec", script)
				shell.Dir = dir
				if said, err := shell.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v: %s", script, err, said)
				}
			}
			must(t, os.MkdirAll(filepath.Join(dir, "deploy", "secrets"), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, "deploy", "secrets", "redis-url"), []byte(fileText(t, secret)), 0o600))
			block := blockOf(t, page, way)
			if inside := inContainer.FindStringSubmatch(block); inside != nil {
				block = "(" + inside[1] + ") > deploy/secrets/backup.rdb"
			}
			run(block)

			server.kill()
			inside := inContainer.FindStringSubmatch(blockOf(t, page, "composition-restore"))[1]
			run("(" + inside + ") < deploy/secrets/backup.rdb")
			for range 2 {
				server.start()
				if after := filled(t, client); len(after) != 20*31+2 || !slices.Equal(before, after) {
					t.Errorf("%d lines before, %d after", len(before), len(after))
				}
				server.kill()
			}
			if _, err := os.Stat(filepath.Join(server.dir, "before", "appendonly.aof.manifest")); err != nil {
				t.Errorf("what was there before is not kept: %v", err)
			}
		})
	}
}

// The command of the page finds the password in every form of the address.
func TestTheBackupFindsThePassword(t *testing.T) {
	command := regexp.MustCompile(`redis-cli .*\)`).ReplaceAllString(blockOf(t, "docs/start.md", "backup"), "printenv REDISCLI_AUTH)")
	for address, want := range map[string]string{
		"redis://:sesame@redis.example:6379":                             "sesame",
		"rediss://user:sesame@redis.example:6380/1":                      "sesame",
		"redis+cluster://:sesame@a:6379,b:6379":                          "sesame",
		"rediss+sentinel://user:sesame@a,b/master/0?sentinel=user:other": "sesame",
	} {
		dir := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(dir, "deploy", "secrets"), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, "deploy", "secrets", "redis-url"), []byte(address+"\n"), 0o600))
		shell := exec.CommandContext(t.Context(), "sh", "-ec", command)
		shell.Dir = dir
		if said, err := shell.CombinedOutput(); err != nil || strings.TrimSpace(string(said)) != want {
			t.Errorf("%s: %s, %v", address, said, err)
		}
	}
}

// fill writes a month of twenty teams, open holds and settled ones.
func fill(t *testing.T, client *redis.Client) {
	t.Helper()
	pipe := client.Pipeline()
	for team := range 20 {
		for day := 1; day <= 31; day++ {
			pipe.HSet(t.Context(), fmt.Sprintf("sl1:{team%d}:use:202610%02d", team, day), "day", day, "qwen|text|tokens", day*1000+team)
		}
	}
	pipe.ZAdd(t.Context(), "sl1:{team0}:open", redis.Z{Score: 1, Member: "a"})
	pipe.Append(t.Context(), "sl1:{team0}:settled:0190a1b2", " 0123456789ab ")
	_, err := pipe.Exec(t.Context())
	must(t, err)
}

// filled is what fill has written, as it is now.
func filled(t *testing.T, client *redis.Client) (lines []string) {
	t.Helper()
	for team := range 20 {
		for day := 1; day <= 31; day++ {
			key := fmt.Sprintf("sl1:{team%d}:use:202610%02d", team, day)
			if fields, err := client.HGetAll(t.Context(), key).Result(); err != nil || len(fields) > 0 {
				lines = append(lines, fmt.Sprint(key, fields, err))
			}
		}
	}
	if open, err := client.ZRangeWithScores(t.Context(), "sl1:{team0}:open", 0, -1).Result(); err != nil || len(open) > 0 {
		lines = append(lines, fmt.Sprint(open, err))
	}
	if settled, err := client.Get(t.Context(), "sl1:{team0}:settled:0190a1b2").Result(); err != redis.Nil {
		lines = append(lines, fmt.Sprint(settled, err))
	}
	return lines
}
