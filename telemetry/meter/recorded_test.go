package meter

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the difference before believing it")

// answer files are bodies as the service sends them: .sse is a stream, .json anything else.
func recorded(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/answers/*.*")
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string][]byte{}
	for _, path := range paths {
		if strings.HasSuffix(path, ".want") {
			continue
		}
		if answers[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if len(answers) < 50 {
		t.Fatalf("only %d recorded answers", len(answers))
	}
	return answers
}

func contentType(name string) string {
	if strings.HasSuffix(name, ".sse") {
		return "text/event-stream;charset=UTF-8"
	}
	return "application/json"
}

// read meters a body that comes in these pieces.
func read(contentType string, pieces ...[]byte) Reading {
	m := New(contentType, "")
	for _, p := range pieces {
		_, _ = m.Write(p)
	}
	return m.End()
}

// readable is a Reading in the form of the golden files.
func readable(r Reading) string {
	usage := map[string]float64{}
	for name, n := range r.Usage.All() {
		usage[name] = n
	}
	type plain Reading
	body, _ := json.MarshalIndent(struct {
		Usage map[string]float64
		plain
	}{usage, plain(r)}, "", "  ")
	return string(body) + "\n"
}

func TestRecordedAnswers(t *testing.T) {
	for name, body := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			got := readable(read(contentType(name), body))
			path := "testdata/answers/" + name + ".want"
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
