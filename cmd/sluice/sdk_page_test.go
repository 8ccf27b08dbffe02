package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLibrariesRunTheirPage runs the programs of docs/sdks.md as a reader would paste them.
func TestLibrariesRunTheirPage(t *testing.T) {
	t.Parallel()
	dir := sdkDir(t)
	base, search, _, stop := demonstrating(t, "--listen=127.0.0.1:0")
	environ := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GOFLAGS=-mod=mod", "GOTOOLCHAIN=" + os.Getenv("GOTOOLCHAIN"),
		"OPENAI_BASE_URL=" + strings.TrimSuffix(base, "/api/v1") + "/v1", "OPENAI_API_KEY=" + search, "BASE=" + base, "KEY=" + search,
	}
	const text, picture = `\S+ \S+ \S+`, `http://127\.0\.0\.1:\d+/pictures/`
	t.Run("programs", func(t *testing.T) {
		for _, tt := range []struct {
			name, marks, file string
			command           []string
			says              string
		}{
			{"Python", "from openai import", "try.py", []string{dir + "/openai/bin/python", "try.py"}, text + `(?s:.*)` + picture},
			{"JavaScript", "import OpenAI from", "try.mjs", []string{dir + "/node/bin/node", "try.mjs"}, text + `(?s:.*)` + picture},
			{"AI SDK", "defaultSettingsMiddleware", "try.mjs", []string{dir + "/node/bin/node", "try.mjs"}, text},
			{"Go", "openai-go/v3\"\n)", "main.go", []string{"go", "run", "."}, text},
			{"LangChain", "from langchain_openai", "try.py", []string{dir + "/langchain/bin/python", "try.py"}, text},
			{"plain HTTP in JavaScript", "import { randomUUID }", "try.mjs", []string{dir + "/node/bin/node", "try.mjs"},
				text + `(?s:.*)SUCCEEDED ` + picture},
			{"plain HTTP in Go", "\"net/http\"", "main.go", []string{"go", "run", "."}, text + `(?s:.*)SUCCEEDED .*` + picture},
			{"curl", "curl -sN $OPENAI", "try.sh", []string{"bash", "-eu", "try.sh"}, `data: \[DONE\](?s:.*)` + picture},
		} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				program := exec.CommandContext(t.Context(), tt.command[0], tt.command[1:]...)
				program.Dir, program.Env = t.TempDir(), environ
				must(t, os.WriteFile(filepath.Join(program.Dir, tt.file), []byte(pageProgram(t, tt.marks)), 0o600))
				must(t, os.Symlink(dir+"/node_modules", program.Dir+"/node_modules"))
				for _, name := range []string{"go.mod", "go.sum"} {
					must(t, os.WriteFile(filepath.Join(program.Dir, name), []byte(readRoot(t, ".ci/sdk/"+name)), 0o600))
				}
				if said, err := program.CombinedOutput(); err != nil || !regexp.MustCompile(tt.says).Match(said) {
					t.Errorf("%v; it said\n%s", err, said)
				}
			})
		}
	})
	if code := stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}

// pageProgram is the block of the page that has the marks.
func pageProgram(t *testing.T, marks string) string {
	t.Helper()
	for _, block := range regexp.MustCompile("(?s)\n```[a-z]+\n(.+?)```\n").FindAllStringSubmatch(readRoot(t, "docs/sdks.md"), -1) {
		if strings.Contains(block[1], marks) {
			return block[1]
		}
	}
	t.Fatalf("docs/sdks.md has no program with %q", marks)
	return ""
}
