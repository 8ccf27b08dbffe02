package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
	if diff := cmp.Diff(slices.Sorted(slices.Values(settingNames)), listed); diff != "" {
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
	if _, err := loadSettings(environ); err != nil {
		t.Error(err)
	}
}
