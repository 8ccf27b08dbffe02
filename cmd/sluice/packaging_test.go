package main

import (
	"os"
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

func TestSecretsStayOutOfTheImage(t *testing.T) {
	ignored := strings.Fields(readRoot(t, ".dockerignore"))
	for _, want := range []string{"*.env", "*.key", "*.pem", "teams.yaml"} {
		found := false
		for _, pattern := range ignored {
			found = found || pattern == want
		}
		if !found {
			t.Errorf(".dockerignore lacks %s", want)
		}
	}
}

func TestCIRunsTheReadmesTestCommand(t *testing.T) {
	run := readRoot(t, ".ci/run")
	if !strings.Contains(run, "README.md") || regexp.MustCompile(`(?m)^\s*go test`).MatchString(run) {
		t.Error(".ci/run must take the test command from README.md")
	}
}

func TestCIKeepsScreenshots(t *testing.T) {
	const directory = "/.ci/screenshots"
	if !strings.Contains(readRoot(t, ".ci/run"), "\nexport SCREENSHOTS=$PWD"+directory+"\n") || !strings.Contains(readRoot(t, ".gitignore"), "\n"+directory+"/\n") {
		t.Errorf(".ci/run does not keep screenshots in %s, or git does not ignore them", directory)
	}
}
