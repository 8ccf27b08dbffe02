package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func credentialOf(t testing.TB, key string) *credential {
	t.Helper()
	base, err := url.Parse("http://service.example:8080/api/v1")
	if err != nil {
		t.Fatal(err)
	}
	return newCredential(Secret(key), base, nil)
}

// escaped writes a text as JSON may, each character in one of its ways.
func escaped(t *rapid.T, text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch form := rapid.IntRange(0, 5).Draw(t, "form"); {
		case form == 0 && c < 0x80:
			fmt.Fprintf(&b, `\u%04x`, c)
		case form == 1 && c < 0x80:
			fmt.Fprintf(&b, `\u%04X`, c)
		case c == '"' || c == '\\' || c == '/' && form == 2:
			b.WriteString(`\` + string(c))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// However an error text spells the key in JSON, and JSON in JSON, nobody reads it from what is left; the text keeps its length
// and stays JSON, and without the key it stays as it is.
func TestMend31TheKeyIsCoveredHoweverItIsSpelt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := "kab0" + rapid.StringOfN(rapid.RuneFrom([]rune(`abu0/"\-_`)), 6, 20, -1).Draw(t, "key")
		c := newCredential(Secret(key), &url.URL{Host: "service.example"}, nil)
		before := rapid.StringOfN(rapid.RuneFrom([]rune(`kxu水\"`)), 0, 8, -1).Draw(t, "before")
		text := escaped(t, before+key+" is wrong")
		for range rapid.IntRange(0, 2).Draw(t, "quoted more") {
			text = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
		}
		body := `{"code":"Invalid","message":"` + text + `"}`
		covered := []byte(body)
		c.redact(covered)
		if len(covered) != len(body) {
			t.Fatalf("%s became %s", body, covered)
		}
		var read struct{ Message string }
		if err := json.Unmarshal(covered, &read); err != nil {
			t.Fatalf("%s became %s: %v", body, covered, err)
		}
		for text, n := read.Message, 0; n < 4; n++ {
			if strings.Contains(text, key) || !strings.Contains(text, "***") {
				t.Fatalf("key %s: %s became %s, of which %q is read", key, body, covered, text)
			}
			var next string
			if json.Unmarshal([]byte(`"`+text+`"`), &next) != nil {
				break
			}
			text = next
		}
	})
}

// A key with backslashes in a row needs more room between its letters than one without.
func TestMend31AKeyOfManyBackslashesIsCovered(t *testing.T) {
	c := credentialOf(t, `kaaa\\\"`)
	spelled := "kaaa" + strings.Repeat(`\\\\u005c`, 3) + strings.Repeat(`\`, 7) + `"`
	if got := c.Cover(spelled); got != strings.Repeat("*", len(spelled)) {
		t.Errorf("%q became %q", spelled, got)
	}
}

func TestMend31WhatIsNotTheKeyStays(t *testing.T) {
	c := credentialOf(t, "sk-abcdef")
	for _, text := range []string{
		"", "s", "sk-abcde", "sk-abcdex", "sk_abcdef", `sk\u002eabcdef`, `\u0073\u006b-abcde`, `\u0073k\u002dabcde\u0067`, `\`, `\u`, `\u00`, `\u007`, `\u0073`,
		`a\nb\tc "error" \u003cb\u003e \u00e9`, "service.exampl", strings.Repeat(`\`, 100), strings.Repeat("sk-", 100),
	} {
		if got := c.Cover(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for text, want := range map[string]string{
		"sk-abcdefsk-abcdef":        strings.Repeat("*", 18),
		"sk-sk-abcdef":              "sk-*********",
		`sk\u002dabcdef`:            strings.Repeat("*", 14),
		`"\u0073k-abcdef"`:          `"` + strings.Repeat("*", 14) + `"`,
		`\\u0073k-abcdef`:           `\\` + strings.Repeat("*", 13),
		`\\\u0073k-abcdef`:          `\\` + strings.Repeat("*", 14),
		`sk\\u002dabc\\\u0064ef`:    strings.Repeat("*", 22),
		`\sk-abcdef`:                strings.Repeat("*", 10),
		"http://service.example:80": "http://" + strings.Repeat("*", 15) + ":80",
		"service.example:8080":      strings.Repeat("*", 20),
		"x service\\u002eexample":   "x " + strings.Repeat("*", 20),
	} {
		if got := c.Cover(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// A key that was replaced a moment ago is covered as well: answers to requests that were sent with it still come.
func TestMend31TheKeyBeforeIsCovered(t *testing.T) {
	old := credentialOf(t, "sk-old-key")
	base, _ := url.Parse("http://service.example:8080/api/v1")
	if got := newCredential("sk-new-key", base, old).Cover("sk-old-key or sk-new-key"); got != "********** or **********" {
		t.Errorf("%q", got)
	}
}

// The key is covered in a stream whatever the pieces are in which it comes, of whatever size the frames, and all else stays.
func TestMend31TheKeyIsCoveredAcrossPieces(t *testing.T) {
	const key = "sk-abcdef"
	c := credentialOf(t, key)
	rapid.Check(t, func(t *rapid.T) {
		var text, want strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "frames") {
			text.WriteString("data:")
			want.WriteString("data:")
			for range rapid.IntRange(0, 60).Draw(t, "parts") {
				part := rapid.SampledFrom([]string{"水", "s", "sk-", `\`, `\\`, "abc", "\xff", key, `\u0073\u006B-abcdef`, `sk\u002dabcdef`}).Draw(t, "part")
				if strings.HasSuffix(part, "abcdef") {
					part = "|" + part
				}
				text.WriteString(part)
				if strings.HasPrefix(part, "|") {
					part = "|" + strings.Repeat("*", len(part)-1)
				}
				want.WriteString(part)
			}
			text.WriteString("\n\n")
			want.WriteString("\n\n")
		}
		var source io.Reader = &pieces{t: t, rest: []byte(text.String())}
		if rapid.Bool().Draw(t, "EOF with the last bytes") {
			source = iotest.DataErrReader(source)
		}
		f := newFrames(io.NopCloser(source), covering(c))
		f.hold = c.begins
		var got []byte
		for {
			buffer := make([]byte, rapid.SampledFrom([]int{400, 500, 4096}).Draw(t, "buffer"))
			n, err := f.Read(buffer)
			got = append(got, buffer[:n]...)
			if err == io.EOF {
				break
			}
			if n == 0 && err == nil {
				t.Fatal("nothing is read")
			}
		}
		if string(got) != want.String() {
			t.Fatalf("%q\nbecame %q\nwant   %q", text.String(), got, want.String())
		}
	})
}

// A reader whose buffer becomes smaller than what waits for it gets that in pieces, none of which ends inside the key.
func TestMend31TheKeyIsCoveredInPiecesOfWhatWaited(t *testing.T) {
	c := credentialOf(t, "sk-abcdef")
	for size := len(`\u0073k-abcdef`); size < 60; size++ {
		f := newFrames(io.NopCloser(strings.NewReader("data:a\n\ndata:"+strings.Repeat("x", 30)+`sk-abcdef, \u0073k-abcdef`+strings.Repeat("y", 30))), covering(c))
		f.hold = c.begins
		n, err := f.Read(make([]byte, 4096))
		rest, _ := io.ReadAll(&small{f, size})
		want := "data:" + strings.Repeat("x", 30) + "*********, " + strings.Repeat("*", 14) + strings.Repeat("y", 30)
		if n != len("data:a\n\n") || err != nil || string(rest) != want {
			t.Errorf("in pieces of %d: %d %v, then %q", size, n, err, rest)
		}
	}
}

// small reads with a small buffer.
type small struct {
	from io.Reader
	size int
}

func (s *small) Read(p []byte) (int, error) { return s.from.Read(p[:min(len(p), s.size)]) }

// The address is covered in an error that is longer than a piece, to its end, and nowhere else.
func TestMend31TheAddressInALongError(t *testing.T) {
	cover := covering(credentialOf(t, "sk-abcdef"))
	var got string
	for _, piece := range []string{
		"data:service.example\n\n", "id:1\ndata:service.example\nevent: error\ndata:", "service.example", "and service.example\n\n", "data:service.example\n\n",
	} {
		whole := []byte(piece)
		_ = cover(whole) // it never fails
		got += string(whole)
	}
	stars := strings.Repeat("*", len("service.example"))
	if want := "data:service.example\n\nid:1\ndata:" + stars + "\nevent: error\ndata:" + stars + "and " + stars + "\n\ndata:service.example\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// covering is what of watching a stream covers.
func covering(c *credential) func([]byte) error {
	cover := frameCover{credential: c}
	return func(whole []byte) error { cover.cover(whole); return nil }
}

func BenchmarkCoverFrame(b *testing.B) {
	frame := []byte("id:7\nevent:result\n:HTTP_STATUS/200\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":\" river\",\"role\":\"assistant\"},\"finish_reason\":\"null\"}]},\"usage\":{\"input_tokens\":20,\"output_tokens\":7,\"total_tokens\":27},\"request_id\":\"7f3c\"}\n\n")
	cover := covering(credentialOf(b, "sk-0123456789abcdef0123456789abcdef"))
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		_ = cover(frame)
	}
}
