package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// TestMain makes the binary, and a curl for machines without one, commands of the scripts in testdata.
func TestMain(m *testing.M) {
	testscript.Main(leakless{m}, map[string]func(){"sluice": main, "curl": curlMain})
}

// leakless runs the tests and fails when they leave goroutines behind.
type leakless struct{ *testing.M }

func (l leakless) Run() int {
	flag.Parse()
	const least = 8 // in parallel: they wait for Redis and for timeouts, not for a processor
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue && runtime.GOMAXPROCS(0) < least {
		_ = f.Value.Set(strconv.Itoa(least))
	}
	code := l.M.Run()
	if err := goleak.Find(toxiproxyLinks...); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// toxiproxyLinks are goroutines that toxiproxy leaves behind: after a failed write to a connection it no longer reads from
// the link's channel, and the senders wait for ever. No code of Sluice runs in them.
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
	if len(args) > 0 && slices.Contains([]string{"adjust", "audit", "directory", "usage"}, args[0]) {
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
