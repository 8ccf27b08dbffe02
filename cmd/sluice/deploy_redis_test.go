package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestTheCompositionsRedisNeedsThePasswordOfSluicesAddress: its command and its healthcheck run here as in the container, with a
// real redis-server.
func TestTheCompositionsRedisNeedsThePasswordOfSluicesAddress(t *testing.T) {
	const password = "0123456789abcdefABCDEF"
	services := readYAML[composition](t, "compose.yaml").Services
	is, secret := services["redis"], write(t, "redis://:"+password+"@redis:6379\n")
	if sluice := services["sluice"]; sluice.Environment["SLUICE_REDIS_URL"] != "" ||
		sluice.Environment["SLUICE_REDIS_URL_FILE"] != "/run/secrets/redis-url" {
		t.Errorf("Sluice has its address from %v", sluice.Environment)
	}
	there := func(script, secret string) string {
		return strings.NewReplacer("$$", "$", "/run/secrets/redis-url", secret).Replace(script)
	}
	if len(is.Command) != 3 || is.Command[0] != "sh" || is.Command[1] != "-ec" {
		t.Fatalf("redis runs %q", is.Command)
	}
	for name, faulty := range map[string]string{"no password": "redis://redis:6379\n", "an empty one": "redis://:@redis:6379\n",
		"no address": ""} {
		if out, err := exec.CommandContext(t.Context(), "sh", "-ec", there(is.Command[2], write(t, faulty))).CombinedOutput(); err == nil ||
			!strings.Contains(string(out), "secrets/redis-url must be") {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}

	server := startComposed(t, there(is.Command[2], secret))
	if err := server.admin.Ping(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("without a password: %v", err)
	}
	options, err := redis.ParseURL(strings.Replace(strings.TrimSpace(fileText(t, secret)), "redis:6379", server.address(), 1))
	must(t, err)
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	info, err := client.Info(t.Context()).Result()
	must(t, err)
	for _, want := range []string{"aof_enabled:1", "maxmemory_policy:noeviction", "maxmemory:536870912"} {
		if !strings.Contains(info, want) {
			t.Errorf("Redis does not say %s", want)
		}
	}
	if !strings.Contains(is.Command[2], "} "+aclOf(t)+"\n") {
		t.Error("its user may do something else than docs/operating.md lists")
	}
	for what, err := range map[string]error{"another's key": client.Set(t.Context(), "other", 1, 0).Err(),
		"CONFIG": client.ConfigGet(t.Context(), "save").Err()} {
		if err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", server.process.Process.Pid)); strings.Contains(string(arguments),
		password) {
		t.Errorf("the password is among the arguments: %q, %v", arguments, err)
	}
	test, _ := is.Healthcheck["test"].([]any)
	for _, tt := range []struct {
		secret  string
		healthy bool
	}{{secret, true}, {write(t, "redis://:wrong@redis:6379\n"), false}} {
		script := strings.Replace(there(test[1].(string), tt.secret), "redis-cli",
			"redis-cli -p "+options.Addr[strings.LastIndex(options.Addr, ":")+1:], 1)
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", script).CombinedOutput(); (err == nil) != tt.healthy {
			t.Errorf("the healthcheck says %v, want healthy %v: %s", err, tt.healthy, out)
		}
	}
}

// startComposed starts redis-server by the composition's command. The image's entry point is replaced by one that adds a free port.
func startComposed(t *testing.T, script string) *redisServer {
	t.Helper()
	server, err := exec.LookPath("redis-server")
	if err == nil {
		dir := t.TempDir()
		t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
		for name, text := range map[string]string{
			"redis-server":         "#!/bin/sh\nexport PORT=$2 DIR=$6\n" + script,
			"docker-entrypoint.sh": "#!/bin/sh\nshift\nexec " + server + " \"$@\" --port $PORT --dir $DIR\n",
		} {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700))
		}
	}
	return startRedis(t)
}
