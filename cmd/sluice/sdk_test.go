package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/gateway/simulator"
)

// library is an unmodified client library with a program of .ci/sdk that drives it, in the directory that .ci/sdk/install made.
type library struct {
	name    string
	command []string // below that directory; a name with .ci/ is the program's
	topics  []string // that it says it has passed
}

var (
	chatTopics = []string{"models", "chat", "usage", "stream", "tools", "structured output", "pictures in a chat", "errors", "retries"}

	chatLibraries = []library{
		{"openai for Python", []string{"openai/bin/python", ".ci/sdk/openai_chat.py"}, chatTopics},
		{"openai for JavaScript", []string{"node/bin/node", ".ci/sdk/openai_chat.cjs"}, chatTopics},
		{"openai-go", []string{"go"}, chatTopics},
		{"LangChain", []string{"langchain/bin/python", ".ci/sdk/chain.py"}, []string{"chat", "stream", "tools", "structured output"}},
	}
)

// sdkTeams has names for OpenAI's interface.
const sdkTeams = someTeams + `    models: ["llm-*", "gen2.6-*"]
catalogue: [llm-plus, llm-vl]
aliases: {gpt-4o: llm-max}
`

// sdkDir is where the libraries are.
func sdkDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("SDK_DIR")
	if dir == "" && os.Getenv("CI_REQUIRES_SDKS") != "" {
		t.Fatal("SDK_DIR is not set, and CI requires it")
	}
	if dir == "" {
		t.Skip("SDK_DIR=$(.ci/sdk/install) go test -run TestLibraries ./cmd/sluice")
	}
	return dir
}

// drive runs the program of a library against a gateway, and checks that it has passed its topics.
func (l library) drive(t *testing.T, gateway, flaky string) {
	t.Helper()
	dir := sdkDir(t)
	root, err := filepath.Abs("../..")
	must(t, err)
	command := slices.Clone(l.command)
	for i, part := range command {
		if strings.HasPrefix(part, ".ci/") {
			command[i] = filepath.Join(root, part)
		} else {
			command[i] = filepath.Join(dir, part)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	program := exec.CommandContext(ctx, command[0], command[1:]...)
	program.Dir, program.Stdout, program.Stderr = t.TempDir(), &stdout, &stderr
	program.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + program.Dir, "NODE_PATH=" + filepath.Join(dir, "node_modules"), "PYTHONDONTWRITEBYTECODE=1",
		"OPENAI_BASE_URL=" + gateway + "/v1", "OPENAI_API_KEY=test", "FLAKY=" + flaky,
	}
	err = program.Run()
	if passed := strings.Split(strings.TrimSpace(stdout.String()), "\n"); err != nil || !slices.Equal(passed, l.topics) {
		t.Errorf("%v; it passed %q, want %q; it said\n%s", err, passed, l.topics, stderr.String())
	}
}

// flaky answers each first attempt of a library with the status that the path begins with, and passes the others on.
func flaky(t *testing.T, gateway string) string {
	t.Helper()
	to, err := url.Parse(gateway)
	must(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, rest, _ := strings.Cut(r.URL.Path[1:], "/")
		if r.Header.Get("X-Stainless-Retry-Count") == "0" {
			w.Header().Set("Retry-After-Ms", "1")
			http.Error(w, "", map[string]int{"429": http.StatusTooManyRequests, "503": http.StatusServiceUnavailable}[status])
			return
		}
		r.URL.Path = "/" + rest
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestLibrariesChat drives libraries that know nothing of Sluice, over real sockets.
func TestLibrariesChat(t *testing.T) {
	sdkDir(t)
	_, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL, "SLUICE_TEAMS_FILE="+write(t, sdkTeams))
	again := flaky(t, "http://"+h.public)
	t.Run("libraries", func(t *testing.T) {
		for _, l := range chatLibraries {
			t.Run(l.name, func(t *testing.T) {
				t.Parallel()
				l.drive(t, "http://"+h.public, again)
			})
		}
	})
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d; it said\n%s", code, h.log.bytes())
	}
}
