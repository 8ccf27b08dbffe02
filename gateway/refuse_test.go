package gateway

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files")

// The table of refusals, as teams see it.
func TestRefusalsGolden(t *testing.T) {
	var b bytes.Buffer
	names := make(map[string]bool)
	for _, r := range reasons {
		_, _ = fmt.Fprintf(&b, "%-22s %d %s\n", r.name, r.status, r.code)
		row := fmt.Sprint(r.name, r.status)
		if names[row] || !regexp.MustCompile(`^[a-z]+/[a-z_]+$`).MatchString(r.name) {
			t.Errorf("%s: twice, or not of the form stage/reason", r.name)
		}
		names[row] = true
	}
	const path = "testdata/refusals.golden"
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || b.String() != string(want) {
		t.Errorf("%v; the table is\n%s", err, b.String())
	}
	page, err := os.ReadFile("../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reasons {
		if row := fmt.Sprintf("| `%s` | %d | %s |", r.name, r.status, r.code); !strings.Contains(string(page), row) {
			t.Errorf("docs/errors.md lacks the row %s", row)
		}
	}
}

func TestErrorBodyBeginsWithTheCode(t *testing.T) {
	got := string(errorBody("InvalidParameter", "a <b> \"c\"\n\xff", "id"))
	if want := `{"code":"InvalidParameter","message":"a <b> \"c\"\n\ufffd","request_id":"id"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Two clients that are refused at the same moment need not return at the same moment, however short the wait is.
func TestRetryAfterIsSpread(t *testing.T) {
	for after, want := range map[time.Duration][2]int{0: {0, 1}, time.Second: {1, 2}, 3 * time.Second: {3, 4}, 20 * time.Second: {20, 24}, time.Hour: {3600, 3660}} {
		if got := [2]int{retryAfter(after, 0), retryAfter(after, 0.999999)}; got != want {
			t.Errorf("after %v: %v, want %v", after, got, want)
		}
	}
}

func TestRetryAfterIsNeverEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		after := time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "after"))
		luck := rapid.Float64Range(0, 0.999999).Draw(t, "luck")
		got := time.Duration(retryAfter(after, luck)) * time.Second
		spread := min(max(after/5, time.Second), time.Minute)
		if got < after || got > after+spread+time.Second {
			t.Fatalf("after %v with luck %v: %v", after, luck, got)
		}
	})
}
