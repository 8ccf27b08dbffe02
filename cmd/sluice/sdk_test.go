package main

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/cmd/sluice/demo"
	"sluice/gateway/simulator"
)

// library is an unmodified client library with a program of .ci/sdk that drives it.
type library struct {
	name    string
	command []string // a program in the directory that .ci/sdk/install made, and its arguments; .ci/… are files
	topics  []string // that it says it has passed
}

var (
	chatTopics  = []string{"models", "chat", "usage", "stream", "tools", "structured output", "pictures in a chat", "errors", "retries"}
	turnTopics  = []string{"create", "usage", "stream", "thinking", "tools", "custom tools", "structured output", "pictures", "errors"}
	blockTopics = []string{"models", "create", "usage", "stream", "thinking", "tools", "structured output", "pictures", "errors"}
	imageTopics = []string{"images", "encoded", "edits", "errors", "paid once"}

	chatLibraries = []library{
		{"openai for Python", []string{"openai/bin/python", ".ci/sdk/openai_chat.py"}, chatTopics},
		{"openai for JavaScript", []string{"node/bin/node", ".ci/sdk/openai_chat.cjs"}, chatTopics},
		{"openai-go", []string{"go"}, chatTopics},
		{"openai for Python, Responses", []string{"openai/bin/python", ".ci/sdk/openai_responses.py"}, turnTopics},
		{"openai for JavaScript, Responses", []string{"node/bin/node", ".ci/sdk/openai_responses.cjs"}, turnTopics},
		{"anthropic for Python", []string{"anthropic/bin/python", ".ci/sdk/anthropic_messages.py"}, blockTopics},
		{"anthropic for JavaScript", []string{"node/bin/node", ".ci/sdk/anthropic_messages.cjs"},
			[]string{"models", "create", "usage", "stream", "thinking", "tools", "errors"}},
		{"LangChain", []string{"langchain/bin/python", ".ci/sdk/chain.py"}, []string{"chat", "stream", "tools", "structured output"}},
		{"AI SDK", []string{"node/bin/node", ".ci/sdk/ai.cjs"}, []string{"text", "stream", "object", "tools", "turns", "embeddings"}},
		{"agents", []string{"agents/bin/python", ".ci/sdk/agents_loops.py"}, []string{"openai-agents", "pydantic-ai", "smolagents"}},
	}
)

// sdkTeams has names for OpenAI's interface.
const sdkTeams = someTeams + `    models: ["llm-*", "gen2.*"]
catalogue: [llm-plus, llm-vl]
aliases: {gpt-4o: llm-max, "gpt-5-*": llm-plus}
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

// drive runs a library's program against a gateway, and checks that it passes its topics.
func (l library) drive(t *testing.T, gateway string) {
	t.Helper()
	folder := t.TempDir()
	drawMill(t, folder)
	stdout, stderr, err := l.run(t, folder, gateway)
	if passed := strings.Split(strings.TrimSpace(stdout), "\n"); err != nil || !slices.Equal(passed, l.topics) {
		t.Errorf("%v; it passed %q, want %q; it said\n%s", err, passed, l.topics, stderr)
	}
}

// run runs the program in a folder, which is its home, too.
func (l library) run(t *testing.T, folder, gateway string, environ ...string) (stdout, stderr string, err error) {
	t.Helper()
	dir := sdkDir(t)
	arguments := slices.Clone(l.command[1:])
	for i, argument := range arguments {
		if strings.HasPrefix(argument, ".ci/") {
			file, err := filepath.Abs("../../" + argument)
			must(t, err)
			arguments[i] = file
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience) // tasks take their time, and libraries pause before they retry
	defer cancel()
	var said, failed bytes.Buffer
	program := exec.CommandContext(ctx, filepath.Join(dir, l.command[0]), arguments...)
	program.Dir, program.Stdout, program.Stderr = folder, &said, &failed
	program.Env = append(environ,
		"PATH="+os.Getenv("PATH"), "HOME="+folder, "NODE_PATH="+filepath.Join(dir, "node_modules"), "PYTHONDONTWRITEBYTECODE=1",
		"OPENAI_BASE_URL="+gateway+"/v1", "OPENAI_API_KEY=test", "ANTHROPIC_BASE_URL="+gateway, "ANTHROPIC_API_KEY=test",
		"FLAKY="+flaky(t, gateway),
	)
	err = program.Run()
	return said.String(), failed.String(), err
}

// drawMill writes a picture for programs that edit one.
func drawMill(t *testing.T, dir string) {
	t.Helper()
	var drawn bytes.Buffer
	must(t, png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 300, 300))))
	must(t, os.WriteFile(filepath.Join(dir, "mill.png"), drawn.Bytes(), 0o600))
}

// TestLibrariesChat drives libraries that know nothing of Sluice, over real sockets.
func TestLibrariesChat(t *testing.T) {
	t.Parallel()
	sdkDir(t)
	_, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL, "SLUICE_TEAMS_FILE="+write(t, sdkTeams), "SLUICE_EMBEDDINGS_PATH="+strings.Trim(demo.EmbeddingsPath, "/"))
	t.Run("libraries", func(t *testing.T) {
		for _, l := range chatLibraries {
			t.Run(l.name, func(t *testing.T) {
				t.Parallel()
				l.drive(t, "http://"+h.public)
			})
		}
	})
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d; it said\n%s", code, h.log.bytes())
	}
}

// TestLibrariesPayOnce: each library makes pictures, loses answers and retries as it likes. The service makes one task for each
// call of the program, and the ledger has its images once.
func TestLibrariesPayOnce(t *testing.T) {
	t.Parallel()
	sdkDir(t)
	for _, tt := range []struct {
		library
		tasks, images int // of the program's calls; one more image needs no task
	}{
		{library{"openai for Python", []string{"openai/bin/python", ".ci/sdk/openai_images.py"}, imageTopics}, 12, 14},
		{library{"openai for JavaScript", []string{"node/bin/node", ".ci/sdk/openai_images.cjs"}, imageTopics}, 12, 14},
		{library{"openai-go", []string{"go", "images"}, imageTopics}, 11, 13}, // it repeats no edit
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			service, upstream := newService(t, simulator.Config{Running: 1200 * time.Millisecond, TaskRate: -1})
			to, err := url.Parse(upstream.URL)
			must(t, err)
			h := serving(t, upstream.URL, "SLUICE_TEAMS_FILE="+write(t, sdkTeams), "SLUICE_POLL_INTERVAL=100ms", "SLUICE_TASK_QUERY_RATE=1000",
				"SLUICE_RESULT_HOSTS="+to.Host, "SLUICE_RESULT_NETWORKS=127.0.0.0/8")
			tt.drive(t, "http://"+h.public)
			if tally := service.Tally(); tally.Executed[simulator.EndpointImage] != tt.tasks || tally.Images != int64(tt.images) {
				t.Errorf("the service made %d tasks and %d images, want %d and %d", tally.Executed[simulator.EndpointImage], tally.Images, tt.tasks,
					tt.images)
			}
			if charged := chargedImages(t, h); charged != tt.images {
				t.Errorf("the ledger has %d images, want %d", charged, tt.images)
			}
			if code := h.stop(); code != exitClean {
				t.Errorf("exit code %d; it said\n%s", code, h.log.bytes())
			}
		})
	}
}

// chargedImages are the images in the ledger.
func chargedImages(t *testing.T, h *house) (images int) {
	t.Helper()
	_, text, err := ask(newClient(t), "http://"+h.admin, "/usage", "")
	must(t, err)
	var report struct {
		Rows []struct {
			Unit string
			Used int
		}
	}
	must(t, json.Unmarshal([]byte(text), &report))
	for _, row := range report.Rows {
		if row.Unit == "images" {
			images += row.Used
		}
	}
	return images
}

// flaky is a proxy to a gateway on which no library's first attempt gets its answer. The path's first segment selects the
// failure: a status, which is answered in the gateway's place; "after-" and a status, which replaces the gateway's answer; or
// "lost": the connection ends instead of the answer. Later attempts pass.
func flaky(t *testing.T, gateway string) string {
	t.Helper()
	to, err := url.Parse(gateway)
	must(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		way, rest, _ := strings.Cut(r.URL.Path[1:], "/")
		r.URL.Path = "/" + rest
		if r.Header.Get("X-Stainless-Retry-Count") != "0" {
			proxy.ServeHTTP(w, r)
			return
		}
		status, after := strings.CutPrefix(way, "after-")
		if after || way == "lost" {
			answer := httptest.NewRecorder()
			proxy.ServeHTTP(answer, r)
			if answer.Code != http.StatusOK {
				t.Errorf("%s: the gateway answers the first attempt with %d %s", way, answer.Code, answer.Body)
			}
		}
		if way == "lost" {
			panic(http.ErrAbortHandler)
		}
		code, err := strconv.Atoi(status)
		if err != nil {
			t.Errorf("%s is no way", way)
		}
		w.Header().Set("Retry-After-Ms", "1")
		http.Error(w, "", code)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestLibrariesRunTheDemonstrationsLines pastes its five lines of Python, as they are printed.
func TestLibrariesRunTheDemonstrationsLines(t *testing.T) {
	t.Parallel()
	dir := sdkDir(t)
	base, search, _, stop := demonstrating(t, "--listen=127.0.0.1:0")
	var said, failed bytes.Buffer
	python := exec.CommandContext(t.Context(), filepath.Join(dir, "openai/bin/python"), "-")
	python.Stdin = strings.NewReader(demo.Python(strings.TrimSuffix(base, "/api/v1")+"/v1", search))
	python.Dir, python.Env = t.TempDir(), []string{"PATH=" + os.Getenv("PATH")}
	python.Stdout, python.Stderr = &said, &failed
	if err := python.Run(); err != nil || !regexp.MustCompile(`(?s)^.{20,}\nhttp://127\.0\.0\.1:\d+/pictures/\S+\n$`).
		MatchString(said.String()) {
		t.Errorf("%v; it said\n%s%s", err, said.String(), failed.String())
	}
	if code := stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}

// TestReadmeShowsTheDemonstrationsLines on its first screen.
func TestReadmeShowsTheDemonstrationsLines(t *testing.T) {
	above, _, shown := strings.Cut(readRoot(t, "README.md"), "\n```python\n"+demo.Python("http://127.0.0.1:8080/v1", "slk_…")+"```\n")
	if screen := strings.Count(above, "\n"); !shown || screen > 30 {
		t.Errorf("README.md shows the lines: %v, below %d others", shown, screen)
	}
}
