package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/cmd/sluice/settings"
	"sluice/gateway/upstream"
)

// faultsOf loads the environment and returns its faults by variable.
func faultsOf(t *testing.T, environ []string) map[string]string {
	t.Helper()
	_, err := settings.Load(environ)
	texts := make(map[string]string)
	if err == nil {
		return texts
	}
	var fs settings.Faults
	if !errors.As(err, &fs) {
		t.Fatalf("the error is a %T, want faults", err)
	}
	for _, f := range fs {
		texts[f.Name] = f.Text
	}
	return texts
}

func TestEveryFaultIsListedAtOnce(t *testing.T) {
	_, err := settings.Load([]string{
		"SLUICE_LISTEN=nowhere",
		"SLUICE_POLL_INTERVAL=soon",
		"SLUICE_MAX_BODY=lots",
		"SLUICE_UPSTEAM_URL=https://service.example/api/v1",
	})
	var fs settings.Faults
	if !errors.As(err, &fs) {
		t.Fatalf("got %v, want faults", err)
	}
	var names []string
	for _, f := range fs {
		names = append(names, f.Name)
	}
	want := []string{
		"SLUICE_LISTEN", "SLUICE_MAX_BODY", "SLUICE_POLL_INTERVAL",
		"SLUICE_UPSTEAM_URL", "SLUICE_UPSTREAM_KEY", "SLUICE_UPSTREAM_URL",
	}
	if !slices.Equal(names, want) {
		t.Errorf("faults of %q, want %q", names, want)
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != len(want) {
		t.Errorf("the text has %d lines, want one a fault:\n%s", lines, err)
	}
}

func TestUnknownNamesAreRefusedWithTheNearest(t *testing.T) {
	for unknown, nearest := range map[string]string{
		"SLUICE_UPSTREAM_KEYFILE":  "SLUICE_UPSTREAM_KEY_FILE",
		"SLUICE_TEAM_FILE":         "SLUICE_TEAMS_FILE",
		"SLUICE_LISTN":             "SLUICE_LISTEN",
		"SLUICE_":                  "config.example.env",
		"SLUICE_OF_NO_KIND_AT_ALL": "config.example.env",
	} {
		text := faultsOf(t, with(unknown+"=value-of-it"))[unknown]
		if !strings.Contains(text, nearest) || strings.Contains(text, "value-of-it") {
			t.Errorf("%s: %q, want the nearest name %s and not the value", unknown, text, nearest)
		}
	}
}

func TestNamesThatKubernetesInjectsAreNoSettings(t *testing.T) {
	environ := with(
		"SLUICE_SERVICE_HOST=10.0.0.1",
		"SLUICE_SERVICE_PORT_HTTP=80",
		"SLUICE_PORT=tcp://10.0.0.1:80",
		"SLUICE_PORT_80_TCP_ADDR=10.0.0.1",
		"OTEL_SERVICE_NAME=sluice",
		"PATH=/bin",
	)
	if fs := faultsOf(t, environ); len(fs) > 0 {
		t.Errorf("faults: %v", fs)
	}
}

func TestSetButEmptyIsUnset(t *testing.T) {
	s, err := settings.Load(with("SLUICE_LISTEN=", "SLUICE_TEAMS_POLL=", "SLUICE_REDIS_URL=", "SLUICE_REDIS_URL_FILE="))
	if err != nil {
		t.Fatal(err)
	}
	if s.Listen != ":8080" || s.TeamsPoll == 0 || s.RedisURL != "" {
		t.Errorf("empty variables hid the defaults: %+v", s)
	}
	if _, missing := faultsOf(t, []string{enough[0], "SLUICE_UPSTREAM_KEY="})["SLUICE_UPSTREAM_KEY"]; !missing {
		t.Error("an empty key passed for a key")
	}
}

func TestWhiteSpaceAroundAValueIsAFault(t *testing.T) {
	for _, value := range []string{" ", "\t", "sk-key\r", " sk-key", "sk-key\n"} {
		if text := faultsOf(t, []string{enough[0], "SLUICE_UPSTREAM_KEY=" + value})["SLUICE_UPSTREAM_KEY"]; text == "" {
			t.Errorf("key %q passed", value)
		}
	}
}

func TestSecretsComeFromFilesToo(t *testing.T) {
	for content, want := range map[string]upstream.Secret{
		"sk-filed":     "sk-filed",
		"sk-filed\n":   "sk-filed",
		"sk-filed\r\n": "sk-filed",
	} {
		s, err := settings.Load([]string{enough[0], "SLUICE_UPSTREAM_KEY_FILE=" + write(t, content)})
		if err != nil || s.UpstreamKey != want {
			t.Errorf("%q gives the key %q and error %v, want %q", content, s.UpstreamKey.Reveal(), err, want.Reveal())
		}
	}
	s, err := settings.Load(with("SLUICE_REDIS_URL_FILE=" + write(t, "rediss://:pass@redis.example\n")))
	if err != nil || s.RedisURL != "rediss://:pass@redis.example" {
		t.Errorf("the address of Redis was not read from its file: %v", err)
	}
}

func TestSecretFilesThatCannotBeUsed(t *testing.T) {
	for what, content := range map[string]string{
		"empty":         "",
		"a line end":    "\n",
		"two lines":     "sk-CANARY\nsk-CANARY\n",
		"blank inside":  "sk CANARY",
		"not ASCII":     "sk-CANARYé",
		"begins blank":  " sk-CANARY",
		"control bytes": "sk-CANARY\x00",
	} {
		fs := faultsOf(t, []string{enough[0], "SLUICE_UPSTREAM_KEY_FILE=" + write(t, content)})
		text, found := fs["SLUICE_UPSTREAM_KEY_FILE"]
		if !found || len(fs) != 1 || strings.Contains(text, "CANARY") {
			t.Errorf("%s: faults %v, want one that names SLUICE_UPSTREAM_KEY_FILE and nothing of its content", what, fs)
		}
	}
	missing := filepath.Join(t.TempDir(), "CANARY")
	text := faultsOf(t, []string{enough[0], "SLUICE_UPSTREAM_KEY_FILE=" + missing})["SLUICE_UPSTREAM_KEY_FILE"]
	if !strings.Contains(text, "no such file") || strings.Contains(text, "CANARY") {
		t.Errorf("a missing file: %q, want the reason without the path", text)
	}
}

func TestASecretHasOneSource(t *testing.T) {
	fs := faultsOf(t, with("SLUICE_UPSTREAM_KEY_FILE="+write(t, "sk-filed")))
	if text := fs["SLUICE_UPSTREAM_KEY_FILE"]; !strings.Contains(text, "SLUICE_UPSTREAM_KEY is set too") {
		t.Errorf("faults %v, want that both are set", fs)
	}
}

// write puts content into a new file that only its owner can read, and returns its path.
func write(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// exampleFile returns the assignments of config.example.env, including those behind a #.
func exampleFile(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile("../../config.example.env")
	if err != nil {
		t.Fatal(err)
	}
	assignments := make(map[string]string)
	for _, match := range regexp.MustCompile(`(?m)^#?(SLUICE_[A-Z_]+)=(.*)$`).FindAllStringSubmatch(string(content), -1) {
		if _, twice := assignments[match[1]]; twice {
			t.Errorf("%s is twice in config.example.env", match[1])
		}
		assignments[match[1]] = match[2]
	}
	return assignments
}

func TestExampleEnvListsEverySettingAndNoOther(t *testing.T) {
	example := exampleFile(t)
	var listed []string
	for name := range example {
		listed = append(listed, name)
	}
	slices.Sort(listed)
	if diff := cmp.Diff(slices.Sorted(slices.Values(settings.Names)), listed); diff != "" {
		t.Errorf("settings and config.example.env differ (-settings +file):\n%s", diff)
	}
}

func TestExampleEnvShowsTheDefaults(t *testing.T) {
	example := exampleFile(t)
	for _, name := range []string{"SLUICE_UPSTREAM_URL", "SLUICE_UPSTREAM_KEY_FILE"} {
		delete(example, name) // settings that the reader has to set; their values are examples
	}
	for name, want := range defaults() {
		if got, shown := example[name]; shown && got != want {
			t.Errorf("config.example.env has %s=%s, but the default is %q", name, got, want)
		}
	}
}

func TestExampleEnvIsAccepted(t *testing.T) {
	environ := []string{"SLUICE_UPSTREAM_KEY=sk-example"}
	for name, value := range exampleFile(t) {
		if !strings.HasPrefix(name, "SLUICE_UPSTREAM_KEY") {
			environ = append(environ, name+"="+value)
		}
	}
	if _, err := settings.Load(environ); err != nil {
		t.Error(err)
	}
}
