package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// write makes a file.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// fifo makes a FIFO without a writer.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Only regular files are read: anything else may have no end, or wait for a writer forever.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	for what, path := range map[string]string{"an endless device": "/dev/zero", "an empty device": "/dev/null", "a directory": t.TempDir(),
		"a FIFO": fifo(t)} {
		if _, err := Read(path); !errors.Is(err, ErrKind) {
			t.Errorf("reading %s: %v, want %v", what, err, ErrKind)
		}
	}
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int64]error{Most: nil, Most + 1: ErrSize, 1 << 40: ErrSize} {
		if err := os.Truncate(large, size); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(large); !errors.Is(err, want) {
			t.Errorf("reading %d bytes: %v, want %v", size, err, want)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(write(t, "behind a link"), link); err != nil {
		t.Fatal(err)
	}
	if content, err := Read(link); string(content) != "behind a link" || err != nil {
		t.Errorf("a link to a regular file: %q %v", content, err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestAnInputThatIsTooLargeIsRefused(t *testing.T) {
	if _, err := All(strings.NewReader(strings.Repeat("#", Most+1))); err == nil {
		t.Error("an input is cut")
	}
	if text, err := All(strings.NewReader("teams: []")); err != nil || string(text) != "teams: []" {
		t.Errorf("%q, %v", text, err)
	}
}
