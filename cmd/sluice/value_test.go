package main

import (
	"strings"
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]byteSize{
		"0": 0, "1": 1, "1023B": 1023, "1KiB": 1 << 10, "64MiB": 64 << 20, "3GiB": 3 << 30, "8589934591GiB": 8589934591 << 30,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%s is %d (%v), want %d", text, got, err, want)
		}
	}
}

func TestSizesAreWrittenInTheLargestUnit(t *testing.T) {
	for want, size := range map[string]byteSize{"0B": 0, "1500B": 1500, "1KiB": 1024, "65MiB": 65 << 20, "1025MiB": 1025 << 20, "2GiB": 2 << 30} {
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
			if covers(string(path), own) || covers(own, string(path)) {
				t.Errorf("%q evades %s", text, own)
			}
		}
	})
}

// TestFaultyRulesAreNamed: an unknown rule or mode is reported with the nearest known one, all at once, in the
// setting and in the teams file. Text without a rule's form may be a secret in the wrong variable, and is hidden.
func TestFaultyRulesAreNamed(t *testing.T) {
	const ids = ", allowed: the ids that sluice check --rules prints"
	for text, want := range map[string]string{
		"image.promt.length=refuse":                  "image.promt.length: unknown rule (meant image.prompt.length?)" + ids,
		"header.sse=loud":                            `header.sse: got "loud", allowed: refuse, warn or off`,
		"header.sse=warn,header.sse=off":             "header.sse: stands twice, allowed: each rule once",
		"header.sse":                                 `header.sse: got "", allowed: refuse, warn or off`,
		"text.topp=off,nothing.of.the.kind=warn":     "text.topp: unknown rule (meant text.top_p?)" + ids + "; nothing.of.the.kind: unknown rule" + ids,
		"sk-1234abcd=off":                            "[hidden]: unknown rule" + ids,
		"header.sse=Passw0rd":                        `header.sse: got "[hidden]", allowed: refuse, warn or off`,
		"header.sse =off":                            `"header.sse ": unknown rule (meant header.sse?)` + ids,
		"header.sse=off, image.prompt.length=refuse": "",
	} {
		if got := faultsOf(t, with("SLUICE_RULES="+text))["SLUICE_RULES"]; got != want {
			t.Errorf("%s\nsays %s\nwant %s", text, got, want)
		}
	}
	const teams = "teams:\n  - id: search\n    rules: {image.promt.length: refuse, header.sse: loud}\n"
	got := command(t.Context(), with("SLUICE_TEAMS_FILE="+write(t, teams)), "check")
	for _, want := range []string{"unknown rule (meant image.prompt.length?)", `got "loud", allowed: refuse, warn or off`} {
		if got.code != exitFaulty || !strings.Contains(got.stderr, want) {
			t.Errorf("the teams file: %q is missing in\n%s", want, got.stderr)
		}
	}
}
