package settings

import (
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]ByteSize{
		"0": 0, "1": 1, "1023B": 1023, "1KiB": 1 << 10, "64MiB": 64 << 20, "3GiB": 3 << 30, "8589934591GiB": 8589934591 << 30,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%s is %d (%v), want %d", text, got, err, want)
		}
	}
}

func TestSizesAreWrittenInTheLargestUnit(t *testing.T) {
	for want, size := range map[string]ByteSize{"0B": 0, "1500B": 1500, "1KiB": 1024, "65MiB": 65 << 20, "1025MiB": 1025 << 20,
		"2GiB": 2 << 30} {
		if got := size.String(); got != want {
			t.Errorf("%d is written %s, want %s", int64(size), got, want)
		}
		if again, err := parseSize(want); err != nil || again != size {
			t.Errorf("%s is read back as %d, want %d", want, again, size)
		}
	}
}

func TestOffsets(t *testing.T) {
	for text, want := range map[string]int{"+08:00": 8 * 3600, "-03:30": -(3*3600 + 30*60), "+00:00": 0} {
		zone, err := parseOffset(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := time.Now().In(&zone).Zone(); got != want {
			t.Errorf("%s is %d s east, want %d", text, got, want)
		}
	}
}

func TestHostNames(t *testing.T) {
	for text, want := range map[string]hostName{"sluice": "sluice", " Sluice.Monitoring.svc": "sluice.monitoring.svc", "a_1": "a_1"} {
		if got, err := parseHostName(text); err != nil || got != want {
			t.Errorf("%q is %q (%v), want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "sluice:8081", "http://sluice", "*", "-a", "a.", "a b", "é"} {
		if got, err := parseHostName(text); err == nil {
			t.Errorf("%q is accepted as %q", text, got)
		}
	}
}

func TestPlacesWithoutTheProxy(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "*": true, ".example.com,*.example.org, a_1.example ,localhost": true,
		"10.0.0.0/8,fd00::/8,192.0.2.1,[::1]:8080,::1,a.example:443": true,
		"10.0.0.0/33": false, "http://a.example": false, "a.example b.example": false, "a.example;b.example": false, "a.example:port": false,
		"a.*.example": false, "é.example": false,
	} {
		_, err := Load([]string{Prefix + "UPSTREAM_URL=http://127.0.0.1:1/api/v1", Prefix + "UPSTREAM_KEY=sk-upstream",
			Prefix + "NO_PROXY=" + text})
		if (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	f.Add("64MiB")
	f.Add("9999999999999999999GiB")
	f.Fuzz(func(t *testing.T, text string) {
		size, err := parseSize(text)
		if err != nil {
			return
		}
		if again, err := parseSize(size.String()); size < 0 || err != nil || again != size {
			t.Errorf("%q is %d, written %s, read back as %d (%v)", text, size, size, again, err)
		}
	})
}

func FuzzForwardPath(f *testing.F) {
	f.Add("uploads")
	f.Add("services/aigc/image-generation/generation")
	f.Fuzz(func(t *testing.T, text string) {
		path, err := parseForwardPath(text)
		if err != nil {
			return
		}
		for _, own := range answered {
			if covers(path.Prefix, own) || covers(own, path.Prefix) {
				t.Errorf("%q evades %s", text, own)
			}
		}
	})
}

func TestTheAddressOfTraces(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://traces.example/trace/{trace}":              true,
		"http://localhost:16686/trace/{trace}?uiEmbed=v0":   true,
		"https://grafana.example/explore?trace={trace}&a=b": true,
		"https://traces.example/trace/":                     false,
		"traces.example/{trace}":                            false,
		"javascript:alert({trace})":                         false,
		"https://user:secret@traces.example/{trace}":        false,
		"https:///{trace}":                                  false,
	} {
		if got, err := parseTraceTemplate(text); (err == nil) != ok || ok && string(got) != text {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}
