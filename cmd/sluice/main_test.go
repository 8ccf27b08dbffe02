package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"sluice/cmd/sluice/settings"
)

// TestMain makes the binary, and a curl for machines without one, commands of the scripts in testdata.
func TestMain(m *testing.M) {
	testscript.Main(leakless{m}, map[string]func(){"sluice": main, "curl": curlMain})
}

// binaries is a folder for binaries that tests build.
var binaries string

// leakless runs the tests and fails if they leak goroutines.
type leakless struct{ *testing.M }

func (l leakless) Run() int {
	flag.Parse()
	const least = 8 // in parallel: they wait for Redis and for timeouts, not for a processor
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue && runtime.GOMAXPROCS(0) < least {
		_ = f.Value.Set(strconv.Itoa(least))
	}
	binaries, _ = os.MkdirTemp("", "sluice")
	defer func() { _ = os.RemoveAll(binaries) }()
	code := l.M.Run()
	if err := goleak.Find(toxiproxyLinks...); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// toxiproxyLinks are goroutines that toxiproxy leaves behind: after a failed write to a connection it no longer reads from the
// link's channel, and the senders block forever. No code of Sluice runs in them.
var toxiproxyLinks = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
	goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
}

// outcome is the result of a command.
type outcome struct {
	code           int
	stdout, stderr string
}

func (o outcome) text() string { return o.stdout + o.stderr }

// command runs a command of the binary inside the test.
func command(ctx context.Context, environ []string, args ...string) outcome {
	if len(args) > 0 && slices.Contains([]string{"adjust", "audit", "directory", "reconcile", "usage"}, args[0]) {
		environ = append([]string{"SLUICE_REDIS_TIMEOUT=5s"}, environ...) // healthy calls take longer than the default on a busy machine
	}
	var stdout, stderr bytes.Buffer
	code := run(ctx, program{environ, &stdout, &stderr}, args)
	return outcome{code, stdout.String(), stderr.String()}
}

// stopped is the context of a command that is stopped before it starts.
func stopped() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// testTime is a time at which the tests' keys are valid.
var testTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		about string
		args  []string
		code  int
		says  string
	}{
		{"help is no error", []string{"--help"}, exitClean, "Usage: sluice"},
		{"nor is a command's", []string{"demo", "--help"}, exitClean, "--traffic"},
		{"an unknown command", []string{"frobnicate"}, exitFaulty, "frobnicate"},
		{"an unknown flag", []string{"version", "--loud"}, exitFaulty, "--loud"},
		{"a flag left out", []string{"key"}, exitFaulty, "--team"},
		{"serve is the default, and needs settings", nil, exitFaulty, "SLUICE_UPSTREAM_URL"},
		{"version", []string{"version"}, exitClean, "sluice "},
		{"nobody listens", []string{"health"}, exitFailure, "not healthy"},
	} {
		environ := []string{"SLUICE_ADMIN_LISTEN=127.0.0.1:1"}
		got := command(t.Context(), environ, tt.args...)
		if got.code != tt.code || !strings.Contains(got.text(), tt.says) {
			t.Errorf("%s: %q ends with %d and says %q, want %d and %q", tt.about, tt.args, got.code, got.text(), tt.code, tt.says)
		}
	}
}

func TestOnlyWhatWentWellIsOnStandardOutput(t *testing.T) {
	got := command(t.Context(), nil, "serve")
	if got.stdout != "" || !strings.HasPrefix(got.stderr, "sluice: the configuration is faulty:\n") {
		t.Errorf("stdout %q, stderr %q", got.stdout, got.stderr)
	}
}

func TestReport(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
		text string
	}{
		{nil, exitClean, ""},
		{errors.New("the roof fell in"), exitFailure, "sluice: the roof fell in\n"},
		{errors.Join(settings.Faults{{Name: "SLUICE_X", Text: "is odd"}}), exitFaulty,
			"sluice: the configuration is faulty:\nSLUICE_X: is odd\n"},
		{settings.Faults{{Name: "SLUICE_X", Text: "a", Mark: " b\n ^\n"}}, exitFaulty,
			"sluice: the configuration is faulty:\nSLUICE_X: a\n     b\n     ^\n"},
		{badUsage{errors.New("no such word")}, exitFaulty, "sluice: no such word (try sluice --help)\n"},
	} {
		var stderr strings.Builder
		if code := report(&stderr, tt.err); code != tt.code || stderr.String() != tt.text {
			t.Errorf("%v: %d %q, want %d %q", tt.err, code, stderr.String(), tt.code, tt.text)
		}
	}
}

func TestBuildFacts(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "a1b2c3"}
	for _, tt := range []struct {
		about string
		info  debug.BuildInfo
		want  build
	}{
		{"a release", debug.BuildInfo{GoVersion: "go1.26.11", Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{revision}},
			build{"v1.2.3", "go1.26.11", "a1b2c3"}},
		{"a checkout with changes", debug.BuildInfo{GoVersion: "go1.26.11", Main: debug.Module{Version: "(devel)"},
			Settings: []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "true"}}},
			build{"(devel)", "go1.26.11", "a1b2c3+changes"}},
		{"no version control", debug.BuildInfo{GoVersion: "go1.26.11"}, build{"(devel)", "go1.26.11", "unknown"}},
	} {
		if got := buildOf(&tt.info); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.about, got, tt.want)
		}
	}
}
