package browsertest

import (
	"os"
	"testing"
)

// TestNothingStaysBehind: no process of a browser outlives its test, and all its files are removed.
func TestNothingStaysBehind(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Run("browser", func(t *testing.T) {
		Open(New(t), t, newPage(t))
		if begun := processesWith(temporary); len(begun) < 2 {
			t.Errorf("the browser has the processes %d", begun)
		}
	})
	if left := processesWith(temporary); len(left) > 0 {
		t.Errorf("the processes %d stay", left)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v; the files %v stay", err, left)
	}
}
