package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readRoot reads a file of the checkout's top level.
func readRoot(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestOneToolchainEverywhere(t *testing.T) {
	toolchain := regexp.MustCompile(`(?m)^toolchain go(\S+)$`)
	match := toolchain.FindStringSubmatch(readRoot(t, "go.mod"))
	if match == nil {
		t.Fatal("go.mod names no toolchain")
	}
	for file, want := range map[string]string{
		"Dockerfile":        "FROM golang:" + match[1] + " AS build",
		".ci/run":           "export GOTOOLCHAIN=go" + match[1],
		".ci/tools/go.mod":  "toolchain go" + match[1],
		".ci/deploy/go.mod": "toolchain go" + match[1],
	} {
		if !strings.Contains(readRoot(t, file), want) {
			t.Errorf("%s lacks %q, which go.mod requires", file, want)
		}
	}
}

// TestImagesAreOfFullVersions: images are named by all of their version, but for the base, which has none, and .ci/digests fills in
// digests.
func TestImagesAreOfFullVersions(t *testing.T) {
	dir := t.TempDir()
	digest := "sha256:" + strings.Repeat("0f", 32)
	must(t, os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/sh\necho "+digest+"\n"), 0o700))
	for _, file := range []string{"deploy/compose.yaml", "Dockerfile"} {
		text := readRoot(t, file)
		images := regexp.MustCompile(`(?m)^(?: *image:|FROM) (\S+:\S+)`).FindAllStringSubmatch(text, -1)
		for _, image := range images {
			if !regexp.MustCompile(`:v?\d+\.\d+\.\d+`).MatchString(image[1]) && !strings.Contains(image[1], "distroless") {
				t.Errorf("%s: %s has no full version", file, image[1])
			}
		}
		copied := write(t, text)
		for range 2 { // the second time changes nothing
			script := exec.CommandContext(t.Context(), "../../.ci/digests", copied)
			script.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			if out, err := script.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if n := strings.Count(readFileText(t, copied), "@"+digest); n != len(images) || n == 0 {
				t.Errorf("%s: %d of %d images have a digest", file, n, len(images))
			}
		}
	}
}

func TestTheImageIsStaticRootlessAndWatched(t *testing.T) {
	dockerfile := readRoot(t, "Dockerfile")
	for _, want := range []string{
		"CGO_ENABLED=0", "-trimpath", "./cmd/sluice", "/static-debian12:nonroot", "EXPOSE 8080",
		`CMD ["/sluice", "health"]`, `ENTRYPOINT ["/sluice"]`,
	} {
		if !strings.Contains(dockerfile, want) {
			t.Errorf("the Dockerfile lacks %q", want)
		}
	}
	if strings.Contains(dockerfile, "SLUICE_UPSTREAM_KEY") || regexp.MustCompile(`(?m)^(ENV|ARG|ADD) `).MatchString(dockerfile) {
		t.Error("the Dockerfile sets a setting of the operator")
	}
}

func TestCIRunsTheReadmesTestCommand(t *testing.T) {
	run := readRoot(t, ".ci/run")
	if !strings.Contains(run, "README.md") || regexp.MustCompile(`(?m)^[^#\n]*go test (-short|\./)`).MatchString(run) {
		t.Error(".ci/run must take the test command from README.md")
	}
}

func TestCIKeepsScreenshots(t *testing.T) {
	const directory = "/.ci/screenshots"
	if !strings.Contains(readRoot(t, ".ci/run"), "\nexport SCREENSHOTS=$PWD"+directory+"\n") ||
		!strings.Contains(readRoot(t, ".gitignore"), "\n"+directory+"/\n") {
		t.Errorf(".ci/run does not keep screenshots in %s, or git does not ignore them", directory)
	}
}

// part runs one function of .ci/run, with programs in place of go and govulncheck that print what says says and exit as exits says.
func part(t *testing.T, function, says, exits string) (string, error) {
	t.Helper()
	text := regexp.MustCompile(`(?ms)^` + function + `\(\) \{\n.*?^\}\n`).FindString(readRoot(t, ".ci/run"))
	if text == "" {
		t.Fatalf(".ci/run has no function %s", function)
	}
	dir := t.TempDir()
	for _, program := range []string{"go", "govulncheck"} {
		must(t, os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\necho \"$GO_SAYS\"\nexit $GO_EXITS\n"), 0o700))
	}
	c := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", text+function)
	c.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "GO_SAYS=" + says, "GO_EXITS=" + exits}
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestAKnownHoleFailsTheRun; an unreachable database does not, but the run reports it.
func TestAKnownHoleFailsTheRun(t *testing.T) {
	for _, tt := range []struct {
		says, exits, prints string
		ok                  bool
	}{
		{"No vulnerabilities found.", "0", "", true},
		{"Vulnerability #1: GO-2026-1", "3", "GO-2026-1", false},
		{"Vulnerability #1: GO-2026-1", "1", "GO-2026-1", false},
		{"govulncheck: loading packages: broken", "1", "loading packages", false},
		{`govulncheck: fetching vulnerabilities: Get "https://vuln.go.dev/index/modules.json.gz": no such host`, "1",
			"govulncheck was not run: its database, vuln.go.dev, cannot be had here.\n", true},
		{"", "124", "govulncheck was not run", true}, // timeout's
	} {
		if out, err := part(t, "holes", tt.says, tt.exits); (err == nil) != tt.ok || !strings.Contains(out, tt.prints) ||
			tt.prints == "" && out != "" {
			t.Errorf("%q: %v, %q", tt.says, err, out)
		}
	}
}

// TestTheMachinesOwnGoRunsTheRaceDetector where it can build the module.
func TestTheMachinesOwnGoRunsTheRaceDetector(t *testing.T) {
	for version, ok := range map[string]bool{"go1.26.0": true, "go1.26.8": true, "go1.26.11": true, "go1.27": true, "go1.25.9": false,
		"go1.9": false} {
		out, err := part(t, "own", version, "0")
		if (err == nil) != ok || ok && strings.TrimSpace(out) != version {
			t.Errorf("%s: %v, %q", version, err, out)
		}
	}
	if !strings.Contains(readRoot(t, ".ci/run"), `env ${chosen:-} go test -race `) {
		t.Error(".ci/run does not run the tests with the race detector with the chosen Go")
	}
}
