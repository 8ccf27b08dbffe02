package gateway_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// inParallel has the names of the tests that run beside others.
var inParallel sync.Map

// parallel lets a test that waits most of its time run beside others. A test that measures memory, or that takes a processor's time,
// runs alone.
func parallel(t *testing.T) {
	t.Helper()
	t.Parallel()
	inParallel.Store(topOf(t), true)
}

// isParallel reports whether other tests run beside this one, so that their goroutines cannot be told apart.
func isParallel(t *testing.T) bool {
	_, ok := inParallel.Load(topOf(t))
	return ok
}

// topOf is the name of the test that this is a part of.
func topOf(t *testing.T) string {
	top, _, _ := strings.Cut(t.Name(), "/")
	return top
}

// runAll runs the tests, many at a time: those that are parallel wait for timeouts, not for a processor. It fails if goroutines are left.
func runAll(m *testing.M) int {
	flag.Parse()
	const least = 12
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue && runtime.GOMAXPROCS(0) < least {
		_ = f.Value.Set(strconv.Itoa(least))
	}
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
