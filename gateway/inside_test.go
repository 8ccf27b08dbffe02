package gateway

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"sluice/cache"
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

// A stream's bytes are the same whatever the pieces in which they come, and the pieces in which they go end where
// events end, or between characters where an event is larger than the buffer.
func TestFramesKeepEveryByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := draw(t)
		size := rapid.SampledFrom([]int{16, 64, 4096}).Draw(t, "buffer")
		var source io.Reader = &pieces{t: t, rest: text}
		if rapid.Bool().Draw(t, "EOF with the last bytes") {
			source = iotest.DataErrReader(source)
		}
		f := newFrames(io.NopCloser(source), func([]byte) error { return nil })
		var got []byte
		buf := make([]byte, size)
		for {
			n, err := f.Read(buf)
			got = append(got, buf[:n]...)
			piece := buf[:n]
			if len(got) < len(text) && n > 0 && lastBorder(piece) != n && n < size-utf8.UTFMax {
				t.Fatalf("a piece ends inside an event: %q", piece)
			}
			if len(got) < len(text) && n > 0 && utf8.Valid(text) && lastRune(piece) != n {
				t.Fatalf("a piece ends inside a character: %q", piece)
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, text) {
			t.Fatalf("got %q, want %q", got, text)
		}
	})
}

func draw(t *rapid.T) []byte {
	end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "line end")
	var b strings.Builder
	for range rapid.IntRange(0, 8).Draw(t, "events") {
		data := rapid.StringOfN(rapid.RuneFrom([]rune("ab水é🌊:")), 0, 60, -1).Draw(t, "data")
		b.WriteString("id:1" + end + "data:" + data + end + end)
	}
	if rapid.Bool().Draw(t, "broken off") {
		b.WriteString("data:水")
	}
	return []byte(b.String())
}

// pieces hands a text out in pieces of any size.
type pieces struct {
	t    *rapid.T
	rest []byte
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:rapid.IntRange(1, len(b)).Draw(p.t, "piece")], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func TestFramesPassTheErrorBehindTheBytes(t *testing.T) {
	broken := errors.New("broken")
	f := newFrames(io.NopCloser(io.MultiReader(strings.NewReader("data:a\n\ndata:b"), iotest.ErrReader(broken))), func([]byte) error { return nil })
	got, err := io.ReadAll(f)
	if string(got) != "data:a\n\ndata:b" || !errors.Is(err, broken) {
		t.Errorf("%q %v", got, err)
	}
}

func TestErrorFrame(t *testing.T) {
	for _, tt := range []struct {
		piece string
		want  int
	}{
		{"event:error\ndata:{}\n\n", 0},
		{"id:1\nevent: error\n\n", 0},
		{"id:1\r\nevent:error\r\n\r\n", 0},
		{"data:{}\n\nid:1\ndata:{}\nevent:  error\n\n", 9},
		{"data:{}\r\rdata:{}\rEvent:\terror\r\r", 9},
		{"data:error\n\nEVENT:error", 12},
		{"id:1\nevent:result\nxevent:error\n\n", -1},
		{"event:" + strings.Repeat(" ", 100) + "Error\n\n", 0},
		{"data:{}\n\nevent:error\n\ndata:{}\r\r", 9},
		{"event:error\r\revent:error\n\n", 0},
		{"id:1\r\revent:error\r\rid:1\n\nevent:error\n\n", 6},
		{"event" + strings.Repeat(" error", 100) + "\n\n", -1},
		{"id:1\nevent:result\ndata:{\"error\":\"event:error\"}\n\n", -1},
		{"data:error event:error\n\n", -1},
		{"", -1},
	} {
		if got := errorFrame([]byte(tt.piece)); got != tt.want {
			t.Errorf("%q: %d, want %d", tt.piece, got, tt.want)
		}
	}
}

// H07: a secret prints as redacted, whatever prints it.
func TestH07SecretsDoNotPrint(t *testing.T) {
	s := Secret("canary-secret")
	c := struct{ Key Secret }{s}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		for _, value := range []any{s, &s, c, &c, []Secret{s}, errors.Join(fmt.Errorf("x: %v", s))} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, "canary") || strings.Contains(text, "63616e617279") {
				t.Errorf("%s of %T prints %s", verb, value, text)
			}
		}
	}
	if s.Reveal() != "canary-secret" {
		t.Error("the secret is lost")
	}
}

// H09: a value in an outbound request cannot begin a header of its own.
func TestHeadCannotBeSplit(t *testing.T) {
	r, err := http.NewRequest("POST", "http://host/api/v1/x?q", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"X-Service-Workspace": {"a\r\nEvil: b"}}
	head := string(appendHead(nil, r, 5))
	if want := "POST /api/v1/x?q HTTP/1.1\r\nHost: host\r\nContent-Length: 5\r\nX-Service-Workspace: a  Evil: b\r\n\r\n"; head != want {
		t.Errorf("got %q, want %q", head, want)
	}
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

// The ends that wait for their charges are bounded; what finds no room is heard again.
func TestMend16EndsAreBounded(t *testing.T) {
	var e ends
	for n := range mostEnds + 1 {
		if !e.add(&cache.Claim{Team: "search", Task: fmt.Sprint(n)}) {
			t.Fatalf("end %d is taken for one that is kept", n)
		}
	}
	_, first := e.of("search", "0")
	_, last := e.of("search", fmt.Sprint(mostEnds))
	if len(e.heard) != 10_000 || !first || last {
		t.Errorf("%d ends are kept, the first %t, the last %t", len(e.heard), first, last)
	}
}

// A connection is closed by the time since upstream was last heard on it, whatever the order in which they were given back.
func TestPoolExpiresByAge(t *testing.T) {
	now := time.Now()
	p := &pool{now: func() time.Time { return now }}
	defer p.close()
	for _, silent := range []time.Duration{0, 2 * idleConn, idleConn / 2, idleConn} {
		near, far := net.Pipe()
		defer func() { _ = far.Close() }()
		p.put(&conn{Conn: near}, now.Add(-silent))
	}
	p.expire()
	if n := len(p.idle); n != 2 {
		t.Errorf("%d wait, want the two that are young", n)
	}
	for _, c := range p.idle {
		if now.Sub(c.idle) >= idleConn {
			t.Errorf("one that is %v old waits", now.Sub(c.idle))
		}
	}
}
