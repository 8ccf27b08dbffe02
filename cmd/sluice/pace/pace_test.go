package pace

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

func TestPaceOfTheCollector(t *testing.T) {
	const container = 1000
	for _, tt := range []struct {
		about     string
		environ   []string
		container int64
		want      Pace
	}{
		{"nothing is known", nil, 0, Pace{percent: free}},
		{"a container's limit", nil, container, Pace{percent: bounded, limit: 900}},
		{"a limit is set", []string{"GOMEMLIMIT=500"}, container, Pace{percent: bounded}},
		{"no limit is wanted", []string{"GOMEMLIMIT=off"}, container, Pace{percent: free}},
		{"a pace is set", []string{"A=b", "GOGC=50"}, 0, Pace{}},
		{"a pace is set in a container", []string{"GOGC=off"}, container, Pace{limit: 900}},
		{"both are set", []string{"GOGC=50", "GOMEMLIMIT=500"}, container, Pace{}},
	} {
		if got := For(tt.environ, tt.container); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.about, got, tt.want)
		}
	}
}

func TestPaceIsRestored(t *testing.T) {
	before := debug.SetGCPercent(123)
	defer debug.SetGCPercent(before)
	restore := Pace{percent: 300, limit: 1 << 40}.Set()
	if got := debug.SetMemoryLimit(-1); got != 1<<40 {
		t.Errorf("the limit in force is %d", got)
	}
	restore()
	if got := debug.SetGCPercent(123); got != 123 {
		t.Errorf("the restored pace is %d", got)
	}
	if got := debug.SetMemoryLimit(-1); got == 1<<40 {
		t.Error("the limit is still in force")
	}
}

func TestContainersMemoryLimit(t *testing.T) {
	for _, tt := range []struct {
		about, group string
		limits       map[string]string
		want         int64
	}{
		{"no control groups", "", nil, 0},
		{"a container's own root", "0::/\n", map[string]string{"": "1073741824\n"}, 1 << 30},
		{"no limit", "0::/\n", map[string]string{"": "max\n"}, 0},
		{"a group above has less", "0::/a/b\n", map[string]string{"a": "500\n", "a/b": "1000\n"}, 500},
		{"a group above has none", "0::/a/b\n", map[string]string{"a": "max\n", "a/b": "1000\n"}, 1000},
		{"version 1", "9:memory:/a\n", map[string]string{"a": "1000\n"}, 0},
	} {
		root := t.TempDir()
		files := map[string]string{"proc/self/cgroup": tt.group}
		for group, limit := range tt.limits {
			files[filepath.Join("sys/fs/cgroup", group, "memory.max")] = limit
		}
		for name, text := range files {
			file := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := ContainerLimit(root); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.about, got, tt.want)
		}
	}
}
