package prose

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAnswerIsDeterministic(t *testing.T) {
	for _, question := range []string{"What is a sluice?", "水闸是什么？", ""} {
		if a, b := Answer(question, 7), Answer(question, 7); a != b {
			t.Errorf("the same question got\n%q and\n%q", a, b)
		}
		if a, b := Answer(question, 7), Answer(question, 8); a == b {
			t.Errorf("two hashes got the same answer %q", a)
		}
	}
}

func TestAnswerNeverRepeatsItself(t *testing.T) {
	for hash := range uint64(200) {
		seen := map[string]bool{}
		for _, sentence := range strings.SplitAfter(Answer("water", hash), ". ") {
			if seen[sentence] {
				t.Fatalf("hash %d says twice %q", hash, sentence)
			}
			seen[sentence] = true
		}
	}
}

func TestAnswerSpeaksTheLanguageOfTheQuestion(t *testing.T) {
	if got := Answer("水闸 please", 1); !strings.Contains(got, "水") || strings.Contains(got, "river") {
		t.Errorf("a Chinese question got %q", got)
	}
	if got := Answer("sluice", 1); strings.Contains(got, "水") {
		t.Errorf("an English question got %q", got)
	}
}

func TestQuoted(t *testing.T) {
	for _, tt := range []struct {
		name, question, want string
	}{
		{"plain", "a gate", "“a gate”"},
		{"ends are trimmed", "what is a gate?! ", "“what is a gate”"},
		{"space is folded", "a\n\n  gate", "“a gate”"},
		{"nothing", "", "“…”"},
		{"just fits", strings.Repeat("a", 60), "“" + strings.Repeat("a", 60) + "”"},
		{"too long", strings.Repeat("a", 61), "“" + strings.Repeat("a", 60) + "…”"},
		{"too long in Chinese", strings.Repeat("闸", 61), "“" + strings.Repeat("闸", 60) + "…”"},
	} {
		if got := english.about(tt.question, "%s"); got != tt.want {
			t.Errorf("%s: %q is quoted as %q, want %q", tt.name, tt.question, got, tt.want)
		}
	}
}

// A per cent sign in a question must not act as a formatting verb.
func TestAnswerQuotesPerCent(t *testing.T) {
	for hash := range uint64(20) {
		if got := Answer("100%d of %s", hash); !strings.Contains(got, "“100%d of %s”") {
			t.Errorf("hash %d answers %q", hash, got)
		}
	}
}

func TestThoughts(t *testing.T) {
	if got := Thoughts("a gate"); !strings.Contains(got, "“a gate”") {
		t.Errorf("thoughts do not name the question: %q", got)
	}
}

func TestJSONAnswer(t *testing.T) {
	var out map[string]string
	if err := json.Unmarshal([]byte(JSONAnswer(`a "gate"`, 3)), &out); err != nil {
		t.Fatal(err)
	}
	if out["question"] != `a "gate"` || out["answer"] == "" {
		t.Errorf("got %q", out)
	}
}

func TestCutRunes(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"abc", 0, ""}, {"abc", 2, "ab"}, {"abc", 3, "abc"}, {"abc", 4, "abc"}, {"水闸", 1, "水"}, {"", 3, ""},
	} {
		if got := CutRunes(tt.text, tt.n); got != tt.want {
			t.Errorf("CutRunes(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add("What is a sluice?", uint64(1))
	f.Fuzz(func(t *testing.T, question string, hash uint64) {
		text := Answer(question, hash)
		if utf8.ValidString(question) && !utf8.ValidString(text) {
			t.Errorf("answer to %q is no UTF-8: %q", question, text)
		}
	})
}
