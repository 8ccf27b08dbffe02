package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Only regular files are read: anything else may have no end, or wait for a writer for ever.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	for what, path := range map[string]string{"an endless device": "/dev/zero", "an empty device": "/dev/null", "a directory": t.TempDir(), "a FIFO": fifo(t)} {
		if _, err := readFile(path); !errors.Is(err, errFileKind) {
			t.Errorf("reading %s: %v, want %v", what, err, errFileKind)
		}
	}
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int64]error{maxFile: nil, maxFile + 1: errFileSize, 1 << 40: errFileSize} {
		if err := os.Truncate(large, size); err != nil {
			t.Fatal(err)
		}
		if _, err := readFile(large); !errors.Is(err, want) {
			t.Errorf("reading %d bytes: %v, want %v", size, err, want)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(write(t, "behind a link"), link); err != nil {
		t.Fatal(err)
	}
	if content, err := readFile(link); string(content) != "behind a link" || err != nil {
		t.Errorf("a link to a regular file: %q %v", content, err)
	}
	if _, err := readFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// fifo makes a FIFO that no process writes to.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// If a file is a FIFO, check names it as a fault and does not wait for it, whichever setting names it.
func TestAFIFOIsAFault(t *testing.T) {
	certificate, key, _ := selfSigned(t)
	for setting, more := range map[string]string{
		"SLUICE_TEAMS_FILE":        enough[1],
		"SLUICE_UPSTREAM_KEY_FILE": "SLUICE_TASK_TTL=24h",
		"SLUICE_REDIS_URL_FILE":    enough[1],
		"SLUICE_TLS_CERT_FILE":     "SLUICE_TLS_KEY_FILE=" + key,
		"SLUICE_TLS_KEY_FILE":      "SLUICE_TLS_CERT_FILE=" + certificate,
	} {
		got := command(t.Context(), []string{enough[0], "SLUICE_TEAMS_FILE=" + write(t, someTeams), more, setting + "=" + fifo(t)}, "check")
		if got.code != exitFaulty || !strings.Contains(got.stderr, setting+": "+errFileKind.Error()) {
			t.Errorf("%s: %+v", setting, got)
		}
	}
}
