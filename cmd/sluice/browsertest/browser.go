// Package browsertest drives a real browser, for tests alone.
package browsertest

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// lifetime is how long the browser of a test may run. It ends only a test that hangs, so it is longer than a busy machine needs.
const lifetime = 5 * time.Minute

// New starts Chromium with a temporary profile and returns chromedp's context of its first tab, which is blank. A further tab
// is chromedp.NewContext of it. The browser and all its processes end with the test. Without Chromium the test is skipped; if
// CI_REQUIRES_BROWSER is set, it fails. Flags are further ones of the browser, such as ignore-certificate-errors.
func New(t testing.TB, flags ...string) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("CI_REQUIRES_BROWSER") != "" {
		t.Fatalf("%v, and CI requires it", err)
	}
	if err != nil {
		t.Skip("apt-get install chromium")
	}
	home, err := os.MkdirTemp(shortTemp(), "browser")
	if err != nil {
		t.Fatal(err)
	}
	limited, enough := context.WithTimeout(context.Background(), lifetime) // the test's own context ends before its cleanups
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.Env("HOME="+home, "TMPDIR="+home), // reports of crashes would be in the user's
		chromedp.NoSandbox,                         // root has none
	)
	for _, flag := range append(flags, "no-proxy-server") {
		options = append(options, chromedp.Flag(flag, true))
	}
	allocator, stop := chromedp.NewExecAllocator(limited, options...)
	ctx, closeTab := chromedp.NewContext(allocator, chromedp.WithErrorf(t.Logf))
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("the end of the browser: %v", err)
		}
		closeTab()
		stop() // returns when the browser has ended and its profile is removed
		enough()
		endProcesses(t, home)
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	return ctx
}

// longestTemp is how long the name of the directory for temporary files may be: the browser has a socket three levels below it, whose
// path has at most 107 bytes.
const longestTemp = 45

// shortTemp is the directory for temporary files, or /tmp if its name is too long for the browser.
func shortTemp() string {
	if directory := os.TempDir(); len(directory) <= longestTemp {
		return directory
	}
	return "/tmp"
}

// endProcesses kills what was started with this home and outlives the browser: its reporters of crashes, which leave its group.
func endProcesses(t testing.TB, home string) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		left := processesWith("HOME=" + home)
		if len(left) == 0 {
			return
		}
		if time.Since(begun) > lifetime {
			t.Fatalf("the processes %d do not end", left)
		}
		for _, id := range left {
			if process, err := os.FindProcess(id); err == nil {
				_ = process.Kill() // or it has ended
			}
		}
	}
}
