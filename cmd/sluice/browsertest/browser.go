// Package browsertest drives a real browser for tests.
package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// lifetime bounds a browser's run. It only ends hanging tests, so it exceeds what a busy machine needs.
const lifetime = 10 * time.Minute

// New starts Chromium with a temporary profile and returns chromedp's context of its first, blank tab. Open further tabs with
// chromedp.NewContext. The browser and all its processes end with the test. Without Chromium the test is skipped, or fails if
// CI_REQUIRES_BROWSER is set. Flags are additional browser flags, such as ignore-certificate-errors.
func New(t testing.TB, flags ...string) context.Context {
	t.Helper()
	ctx, stop, err := start(executable(t), t.Logf, flags)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

// shared is the browser of the package's tests.
var shared struct {
	sync.Mutex
	ctx  context.Context
	stop func() error
	err  error
}

// Tab returns chromedp's context of a blank tab of a browser that the package's tests share, so that they can open pages in parallel.
// The first call starts the browser, and [Main] ends it. The tab has its own window, cookies and cache, and is closed with the test.
func Tab(t testing.TB) context.Context {
	t.Helper()
	path := executable(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.stop == nil {
		shared.ctx, shared.stop, shared.err = start(path, func(string, ...any) {}, nil)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	ctx, closeTab := chromedp.NewContext(shared.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("the end of the tab: %v", err)
		}
		closeTab()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("the tab does not open: %v", err)
	}
	return ctx
}

// Main runs the tests of a package, ends the browser of [Tab], and returns the exit code.
func Main(m *testing.M) int {
	code := m.Run()
	if shared.stop != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return max(code, 1)
		}
	}
	return code
}

// executable returns the path of Chromium.
func executable(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("CI_REQUIRES_BROWSER") != "" {
		t.Fatalf("%v, and CI requires it", err)
	}
	if err != nil {
		t.Skip("apt-get install chromium")
	}
	return path
}

// start starts Chromium. Call stop also after an error.
func start(path string, logf func(string, ...any), flags []string) (ctx context.Context, stop func() error, err error) {
	home, err := os.MkdirTemp(shortTemp(), "browser")
	if err != nil {
		return nil, func() error { return nil }, err
	}
	limited, enough := context.WithTimeout(context.Background(), lifetime) // the test's own context ends before its cleanups
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.Env("HOME="+home, "TMPDIR="+home), // keeps crash reports out of the user's home
		chromedp.NoSandbox,                         // the sandbox does not run as root
	)
	for _, flag := range append(flags, "no-proxy-server") {
		options = append(options, chromedp.Flag(flag, true))
	}
	allocator, stopBrowser := chromedp.NewExecAllocator(limited, options...)
	ctx, closeTab := chromedp.NewContext(allocator, chromedp.WithErrorf(logf))
	stop = func() error {
		if err := chromedp.Cancel(ctx); err != nil {
			logf("the end of the browser: %v", err)
		}
		closeTab()
		stopBrowser() // returns when the browser has ended and its profile is removed
		enough()
		return errors.Join(endProcesses(home), os.RemoveAll(home))
	}
	if err := chromedp.Do(ctx); err != nil {
		return ctx, stop, fmt.Errorf("the browser does not start: %w", err)
	}
	return ctx, stop, nil
}

// longestTemp bounds the path of the temporary directory: the browser has a socket three levels below it, and a socket's path has at
// most 107 bytes.
const longestTemp = 45

// shortTemp returns the temporary directory, or /tmp if its path is too long for the browser.
func shortTemp() string {
	if directory := os.TempDir(); len(directory) <= longestTemp {
		return directory
	}
	return "/tmp"
}

// endProcesses kills processes that were started with this home and outlive the browser: crash reporters leave its group.
func endProcesses(home string) error {
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		left := processesWith("HOME=" + home)
		if len(left) == 0 {
			return nil
		}
		if time.Since(begun) > lifetime {
			return fmt.Errorf("the processes %d do not end", left)
		}
		for _, id := range left {
			if process, err := os.FindProcess(id); err == nil {
				_ = process.Kill() // fails if it has ended
			}
		}
	}
}
