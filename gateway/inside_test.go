package gateway

import (
	"bytes"
	"flag"
	"fmt"
	"net/url"
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

func TestServerTiming(t *testing.T) {
	for own, want := range map[time.Duration]string{
		0: "0.0", 49 * time.Microsecond: "0.0", 50 * time.Microsecond: "0.1", 1240 * time.Microsecond: "1.2", 999_960 * time.Microsecond: "1000.0",
		-time.Second: "0.0",
	} {
		if got := serverTiming(own); got != "sluice;dur="+want {
			t.Errorf("%v is told as %s, want %s", own, got, want)
		}
	}
}

func TestIDsAreUUIDs(t *testing.T) {
	form := regexp.MustCompile(`^019a5e2c-1f37-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := make(map[string]bool)
	for range 10000 {
		id := newID(0x19a5e2c1f37)
		if !form.MatchString(id) || seen[id] {
			t.Fatalf("%s is no new UUID of version 7 with its moment", id)
		}
		seen[id] = true
	}
}

// The budget against a model: sums are right after every step, bounds hold, and all comes back.
func TestBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBudget(1000)
		var open []share
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			team := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "team")
			if len(open) > 0 && rapid.Bool().Draw(t, "release") {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				open[i].release()
				open[i].release()
			}
			s, n := b.share(team), rapid.Int64Range(1, 600).Draw(t, "n")
			before := b.used.Load()
			fits := before+n <= 1000 && s.team.Load()+n <= 500
			if s.take(n) != fits || !fits && b.used.Load() != before {
				t.Fatalf("take %d of team %s: want %v", n, team, fits)
			}
			open = append(open, s)
		}
		for i := range open {
			open[i].release()
		}
		if b.used.Load() != 0 {
			t.Fatalf("%d left", b.used.Load())
		}
	})
}

// FuzzTaskID: what is taken for a task's id is never more than the service's alphabet, whatever the path.
func FuzzTaskID(f *testing.F) {
	for _, seed := range []string{"a", "a/", "a/cancel", "%61", "..%2f", "a%2fcancel", "%252e", "a;b", "\xff", "a//", "a.b~c", ".", "..", "%2e%2e"} {
		f.Add(seed)
	}
	form := regexp.MustCompile(`^[A-Za-z0-9._~-]{1,256}$`)
	rs := newRoutes(mustURL("http://host/api/v1"), []route{{method: get, path: "tasks"}, {method: get, path: "tasks/{id}"}, {method: post, path: "tasks/{id}/cancel"}})
	f.Fuzz(func(t *testing.T, rest string) {
		if m, ok := rs.lookup(versionPrefix + "tasks/" + rest); ok && m.task != "" && (!form.MatchString(m.task) || m.task == "." || m.task == "..") {
			t.Errorf("%q is taken for the id %q", rest, m.task)
		}
	})
}

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// What is kept of an answer is bounded while it comes, and nothing where it was too much.
func TestMend28NothingIsKeptOfTooMuch(t *testing.T) {
	var kept keptAnswer
	piece := bytes.Repeat([]byte("x"), 32<<10)
	for n := range 400 << 20 / len(piece) {
		kept.keep(piece)
		if fits := (n+1)*len(piece) <= mostKept; fits == kept.over || cap(kept.bytes) > 2*mostKept || !fits && kept.bytes != nil {
			t.Fatalf("%d bytes are kept of %d", cap(kept.bytes), (n+1)*len(piece))
		}
	}
}
