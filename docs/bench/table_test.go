package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	m := measure{name: "json", title: "1 KB", columns: []column{{"requests/s", 0, true}, {"core %", 1, false}}}
	all := results{
		"bare":   {{1000, 90}, {2000, 91.26}, {4000, 92}},
		"sluice": {{2000, 90}, {3000, 90}, {3000, 90}},
	}
	var out strings.Builder
	printTable(&out, m, []string{"bare", "sluice"}, all)
	want := `
### 1 KB (json)

|  | requests/s | core % | requests/s ÷ bare |
|---|---|---|---|
| bare | 2,000 (1,000–4,000) | 91.3 (90.0–92.0) | 1.00 (1.00–1.00) |
| sluice | 3,000 (2,000–3,000) | 90.0 (90.0–90.0) | 1.50 (0.75–2.00) |
`
	if out.String() != want {
		t.Errorf("got %s", out.String())
	}
}

func TestNumber(t *testing.T) {
	for value, want := range map[float64]string{0: "0.0", -12365.25: "-12,365.2", -123: "-123.0", 1234567: "1,234,567.0", 999.96: "1,000.0"} {
		if got := number(value, 1); got != want {
			t.Errorf("%f is written %s, want %s", value, got, want)
		}
	}
}

func TestRequestsAreComplete(t *testing.T) {
	for name, requests := range map[string]requests{"service": serviceRequests(), "openai": openAIRequests()} {
		for _, request := range [][]byte{requests.json, requests.frames, requests.idle} {
			if _, body, _ := strings.Cut(string(request), "\r\n\r\n"); len(body) != 1024 ||
				!strings.Contains(string(request), "Content-Length: 1024\r\n") {
				t.Errorf("%s: a body of %d bytes in %.200s", name, len(body), request)
			}
		}
	}
}
