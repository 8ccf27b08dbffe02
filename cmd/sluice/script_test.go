package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sluice/cmd/sluice/settings"
)

// patience bounds every wait of a script. Only a failing test takes that long.
const patience = 3 * time.Minute

// TestScripts runs the binary as an operator does. Beside testscript's own commands the scripts have:
//
//	start NAME COMMAND...   starts a process that runs beside the script
//	await NAME REGEXP       waits for a line of its output; named groups become variables
//	signal NAME TERM        sends it a signal
//	ended NAME CODE         waits for its end and checks the exit code
//	console                 serves a console and sets SLUICE_CONSOLE_URL
//	output NAME FILE        writes its standard output so far to a file
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"console": startConsole,
			"start":   func(ts *testscript.TestScript, _ bool, args []string) { startChild(ts, args[0], args[1:]) },
			"await":   func(ts *testscript.TestScript, _ bool, args []string) { childOf(ts, args[0]).await(ts, args[1]) },
			"signal":  func(ts *testscript.TestScript, _ bool, args []string) { childOf(ts, args[0]).signal(ts, args[1]) },
			"ended":   func(ts *testscript.TestScript, _ bool, args []string) { childOf(ts, args[0]).ended(ts, args[1]) },
			"output": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(os.WriteFile(ts.MkAbs(args[1]), childOf(ts, args[0]).stdout.bytes(), 0o600))
			},
		},
		Setup: func(env *testscript.Env) error {
			env.Values["children"] = map[string]*child{}
			demo, err := filepath.Abs("../../docs/demo")
			env.Setenv("DEMO", demo)
			env.Setenv("GORACE", "atexit_sleep_ms=20") // otherwise a process under -race takes a second to end
			return err
		},
	})
}

// transcript is the output of a process, which can be waited for.
type transcript struct {
	mu      sync.Mutex
	content []byte
	more    chan struct{} // closed when content grows
}

func newTranscript() *transcript { return &transcript{more: make(chan struct{})} }

// Write implements io.Writer.
func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.content = append(t.content, p...)
	close(t.more)
	t.more = make(chan struct{})
	return len(p), nil
}

func (t *transcript) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.content...)
}

// find waits until the output matches, and returns the match.
func (t *transcript) find(ctx context.Context, want *regexp.Regexp) ([][]byte, error) {
	for {
		t.mu.Lock()
		match, more := want.FindSubmatch(t.content), t.more
		t.mu.Unlock()
		if match != nil {
			return match, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// child is a process that a script started.
type child struct {
	process *exec.Cmd
	stdout  *transcript
	all     *transcript // standard output and standard error
	over    context.Context
}

func childOf(ts *testscript.TestScript, name string) *child {
	c := ts.Value("children").(map[string]*child)[name]
	if c == nil {
		ts.Fatalf("there is no process %s", name)
	}
	return c
}

var errEnded = errors.New("the process has ended")

func startChild(ts *testscript.TestScript, name string, args []string) {
	c := &child{process: exec.Command(args[0], args[1:]...), stdout: newTranscript(), all: newTranscript()}
	c.process.Dir = ts.MkAbs(".")
	for _, variable := range append([]string{"PATH", "HOME", "TMPDIR", "GORACE"}, settings.Names...) {
		if value := ts.Getenv(variable); value != "" {
			c.process.Env = append(c.process.Env, variable+"="+value)
		}
	}
	c.process.Stdout = teeWriter{c.stdout, c.all}
	c.process.Stderr = c.all
	ts.Check(c.process.Start())
	ctx, over := context.WithCancelCause(context.Background())
	c.over = ctx
	go func() {
		_ = c.process.Wait()
		over(errEnded)
	}()
	ts.Defer(func() {
		_ = c.process.Process.Kill()
		<-c.over.Done()
	})
	ts.Value("children").(map[string]*child)[name] = c
}

type teeWriter [2]*transcript

// Write implements io.Writer.
func (t teeWriter) Write(p []byte) (int, error) {
	_, _ = t[0].Write(p)
	return t[1].Write(p)
}

func (c *child) await(ts *testscript.TestScript, pattern string) {
	want := regexp.MustCompile(pattern)
	ctx, cancel := context.WithTimeout(c.over, patience)
	defer cancel()
	match, err := c.all.find(ctx, want)
	if err != nil {
		ts.Fatalf("%v; wanted %s in\n%s", err, pattern, c.all.bytes())
	}
	for i, variable := range want.SubexpNames() {
		if variable != "" {
			ts.Setenv(variable, string(match[i]))
		}
	}
}

func (c *child) signal(ts *testscript.TestScript, name string) {
	ts.Check(c.process.Process.Signal(map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP}[name]))
}

func (c *child) ended(ts *testscript.TestScript, code string) {
	select {
	case <-c.over.Done():
	case <-time.After(patience):
		ts.Fatalf("still running; it said\n%s", c.all.bytes())
	}
	if got := strconv.Itoa(c.process.ProcessState.ExitCode()); got != code {
		ts.Fatalf("exit code %s, want %s; it said\n%s", got, code, c.all.bytes())
	}
}
