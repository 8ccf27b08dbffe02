package policy_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

func TestDataURIs(t *testing.T) {
	data := base64.StdEncoding.EncodeToString(pngHeader(800, 600, 2)) // 57 bytes: no padding
	two := base64.StdEncoding.EncodeToString(append(pngHeader(800, 600, 2), 0))
	one := base64.StdEncoding.EncodeToString(append(pngHeader(800, 600, 2), 0, 0))
	var escaped strings.Builder
	for _, c := range two {
		fmt.Fprintf(&escaped, `\u%04x`, c)
	}
	png := "data:image/png;base64,"
	const form = "image.image.data"
	var cases []imageCase
	for _, tt := range []imageCase{
		{"upper-case scheme", "DATA:image/png;base64," + data, ""},
		{"upper-case type", "data:IMAGE/PNG;base64," + data, ""},
		{"upper-case marker", "data:image/png;BASE64," + data, ""},
		{"charset", "data:image/png;charset=utf-8;base64," + data, form},
		{"name", `data:image/png;name=\"a,b\";base64,` + data, form},
		{"parameter behind", "data:image/png;base64;x=y," + data, form},
		{"no base64", "data:image/png," + data, form},
		{"no type", "data:;base64," + data, form},
		{"nothing", "data:,x", form},
		{"no data", png, form},
		{"no slash", "data:png;base64," + data, form},
		{"two slashes", "data:image/png/x;base64," + data, form},
		{"type without end", "data:" + strings.Repeat("x", 70) + "/png;base64," + data, form},
		{"space before", " " + png + data, "image.image.address"},
		{"bare base64", data, "image.image.address"},
		{"line ends", png + data[:8] + `\r\n` + data[8:], form},
		{"line end at the end", png + data + `\n`, form},
		{"space", png + data[:8] + " " + data[8:], form},
		{"tab", png + data[:8] + `\t` + data[8:], form},
		{"URL alphabet", png + data[:8] + "-_-_" + data[8:], form},
		{"percent", png + data[:8] + "%2B" + data[8:], form},
		{"beyond ASCII", png + data[:8] + "é" + data[8:], form},
		{"padding of two", png + two, ""},
		{"padding of one", png + one, ""},
		{"padding in the middle", png + two + "AAAA", form},
		{"too much padding", png + data + "=", form},
		{"three of padding", png + data + "A===", form},
		{"padding too short", png + strings.TrimSuffix(two, "="), form},
		{"padding absent, two", png + strings.TrimRight(two, "="), "image.image.padding?"},
		{"padding absent, one", png + strings.TrimRight(one, "="), "image.image.padding?"},
		{"one symbol over", png + data + "A", form},
		{"escaped slashes", strings.ReplaceAll(png+data, "/", `\/`), ""},
		{"escaped plus", strings.ReplaceAll(png+data, "A", `\u0041`), ""},
		{"all escaped", png + escaped.String(), ""},
		{"escaped scheme", `\u0064ata:image/png;base64,` + data, ""},
	} {
		cases = append(cases, imageCase{tt.id, `"` + tt.image + `"`, tt.want})
	}
	testImages(t, cases)
}

func TestAddresses(t *testing.T) {
	const no = "image.image.address"
	var cases []imageCase
	for _, tt := range []imageCase{
		{"empty", "", no},
		{"white space", " ", no},
		{"space inside", "http://a/b c", no},
		{"line end", `http://a/b\n`, no},
		{"DEL", "http://a/\x7f", no},
		{"3 MiB", "http://a/" + strings.Repeat("x", 3<<20), no},
		{"3 MiB of escapes", "http://a/" + strings.Repeat(`\u0078`, 1<<19), no},
		{"8 KiB", "http://a/" + strings.Repeat("x", 8<<10-9), ""},
		{"8 KiB of escapes", "http://a/" + strings.Repeat(`\u0078`, 8<<10-9), ""},
		{"8 KiB and one byte", "http://a/" + strings.Repeat("x", 8<<10-8), no},
		{"upper-case scheme", "HTTP://a.example/b", ""},
		{"https", "https://a.example/b?Expires=1&Signature=a%2Fb%3D#x", ""},
		{"ftp", "ftp://a/b", no},
		{"file", "file:///etc/passwd", no},
		{"javascript", "javascript:alert(1)", no},
		{"without scheme", "//host/x", no},
		{"IDN", "http://例え.example/x", no},
		{"IDN as punycode", "http://xn--r8jz45g.example/x", ""},
		{"path beyond ASCII", "http://a.example/猫.png", ""},
		{"user information", "http://user:secret@a.example/b", no},
		{"backslash in the host", `http://a.example\\@b/c`, no},
		{"at in the path", "http://a.example/@b", ""},
		{"no host", "http:///b", no},
		{"port", "http://a.example:8080/b", ""},
		{"port that is none", "http://a.example:80x/b", no},
		{"port alone", "http://:80/b", no},
		{"query at once", "http://a.example?x", ""},
		{"IPv4", "http://192.0.2.1/b", ""},
		{"IPv6", "http://[2001:db8::1]:80/b", ""},
		{"IPv6 without end", "http://[2001:db8::1/b", no},
		{"oss without the header", "oss://bucket/b.png", no},
		{"escaped slashes", `https:\/\/a.example\/b`, ""},
	} {
		cases = append(cases, imageCase{tt.id, `"` + tt.image + `"`, tt.want})
	}
	cases = append(cases,
		imageCase{"object", `{"url":"http://a/b"}`, "image.image"},
		imageCase{"number", `5`, "image.image"},
		imageCase{"list", `["http://a/b"]`, "image.image"},
		imageCase{"null", `null`, "image.content.kind image.edit.images"})
	testImages(t, cases)
	if got := imageVerdict(t, "resolve", `"oss://bucket/b.png"`); got != "" {
		t.Errorf("oss with the header: broke %q", got)
	}
}

// TestTextImages shows the same rules under the ids of text and chat.
func TestTextImages(t *testing.T) {
	for _, tt := range []struct{ image, want string }{
		{`5`, "text.image"},
		{`"ftp://a/b"`, "text.image.address"},
		{`"data:image/png,AAAA"`, "text.image.data"},
		{`"data:image/png;base64,AA"`, "text.image.padding?"},
		{`"data:image/gif;base64,AAAA"`, ""},
	} {
		if got := imageVerdict(t, "chat", tt.image); got != tt.want {
			t.Errorf("%s: broke %q, want %q", tt.image, got, tt.want)
		}
	}
	if got := verdict(t, &families, "chat", chatParameters("llm-vl", `"seed":1`)); len(got) > 0 {
		t.Errorf("broke %v", got)
	}
	video := itemsBody("llm-vl", `{"text":"a"},{"video":"file:///x"},{"audio":["ftp://x/y"]}`, "")
	if got := strings.Join(verdict(t, &families, "chat", video), " "); got != "text.media.address" {
		t.Errorf("broke %q", got)
	}
}
