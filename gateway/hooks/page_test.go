package hooks

import (
	"bufio"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/gateway/upstream"
	"sluice/policy/event"
	"sluice/policy/limit/limittest"
)

// pageProgram is the block of docs/events.md in a language.
func pageProgram(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)\n```" + language + "\n(.+?)```\n").FindSubmatch(page)
	if block == nil {
		t.Fatalf("docs/events.md has no program in %s", language)
	}
	return string(block[1])
}

// The receivers of the page take what is signed, once, and nothing else.
func TestThePagesReceivers(t *testing.T) {
	for language, tt := range map[string][]string{"python": {"main.py"}, "go": nil} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(map[string]string{"python": "python3", "go": "go"}[language])
			if err != nil {
				t.Skip("not installed: " + language)
			}
			dir, port := t.TempDir(), limittest.FreePort(t)
			secret := filepath.Join(dir, "secret")
			write(t, secret, testSecret+"\n")
			if language == "go" {
				program = build(t, dir, pageProgram(t, language))
			} else {
				write(t, filepath.Join(dir, "main.py"), pageProgram(t, language))
			}
			receiver := exec.CommandContext(t.Context(), program, append(tt, strconv.Itoa(port))...)
			receiver.Dir = dir
			receiver.Env = append(os.Environ(), "SECRET_FILE="+secret)
			receiver.WaitDelay = time.Second
			out, err := receiver.StdoutPipe()
			if err != nil || receiver.Start() != nil {
				t.Fatal(err)
			}
			said := bufio.NewScanner(out)
			p := NewPoster(PosterConfig{
				Secret:   func(path string) (upstream.Secret, error) { return upstream.Secret(path), nil },
				Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Now: time.Now,
			})
			h := event.Hook{ID: "jobs", URL: "http://127.0.0.1:" + strconv.Itoa(port) + "/", Secrets: []string{otherSecret, testSecret}}
			post := func() int {
				a, err := p.Post(t.Context(), &h, anEvent(), "")
				if err != nil {
					return 0
				}
				return a.Code
			}
			for begun := time.Now(); post() == 0; time.Sleep(50 * time.Millisecond) { // until it listens
				if time.Since(begun) > time.Minute {
					t.Fatal("it never listens")
				}
			}
			if !said.Scan() || said.Text() != string(anEvent().Bytes()) {
				t.Errorf("it said %q", said.Text())
			}
			if code := post(); code != http.StatusNoContent {
				t.Errorf("a second delivery is answered %d", code)
			}
			h.Secrets = []string{otherSecret}
			if code := post(); code != http.StatusUnauthorized {
				t.Errorf("a strange signature is answered %d", code)
			}
			h.Secrets = []string{testSecret}
			p.config.Now = func() time.Time { return time.Now().Add(-time.Hour) }
			if code := post(); code != http.StatusUnauthorized {
				t.Errorf("an old delivery is answered %d", code)
			}
		})
	}
}

// build builds a program of the page into dir. Its source is below this module, whose library it uses.
func build(t *testing.T, dir, text string) (binary string) {
	t.Helper()
	source, err := os.MkdirTemp("testdata", "receiver")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(source) }()
	write(t, filepath.Join(source, "main.go"), text)
	binary = filepath.Join(dir, "receiver")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./"+filepath.Join(source, "main.go")).
		CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.TrimLeft(text, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}
