package policy

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/policy/strictjson"
)

// literal is a number as it stands in a body.
func literal(s string) value { return value{shape: strictjson.Number, text: s} }

func TestIntegers(t *testing.T) {
	for _, tt := range []struct {
		given value
		want  int64
		ok    bool
	}{
		{literal("0"), 0, true},
		{literal("-1"), -1, true},
		{literal("9223372036854775807"), math.MaxInt64, true},
		{literal("9223372036854775808"), math.MaxInt64, true}, // as far out of every range
		{literal(strings.Repeat("9", 64)), math.MaxInt64, true},
		{literal("-9223372036854775809"), math.MinInt64, true},
		{literal("-0"), 0, false},
		{literal("1.0"), 0, false},
		{literal("1e0"), 0, false},
		{literal("1E2"), 0, false},
		{value{shape: strictjson.String, text: "1"}, 0, false},
		{value{shape: strictjson.True}, 0, false},
		{value{shape: strictjson.Null}, 0, false},
		{value{}, 0, false},
	} {
		if got, ok := tt.given.integer(); got != tt.want || ok != tt.ok {
			t.Errorf("%+v: %d, %v", tt.given, got, ok)
		}
	}
}

func TestFloats(t *testing.T) {
	for _, tt := range []struct {
		given value
		want  float64
		ok    bool
	}{
		{literal("0.5"), 0.5, true},
		{literal("-0"), 0, true},
		{literal("1e-400"), 0, true},
		{literal("2.0000000000000001"), 2, true}, // what every reader of doubles makes of it
		{literal("1e400"), math.Inf(1), false},
		{literal("-1e400"), math.Inf(-1), false},
		{value{shape: strictjson.String, text: "0.5"}, 0, false},
	} {
		if got, ok := tt.given.number(); got != tt.want || ok != tt.ok {
			t.Errorf("%+v: %v, %v", tt.given, got, ok)
		}
	}
}

// TestPositive turns what is asked for into what is held: never less than one, never a credit, never an overflow.
func TestPositive(t *testing.T) {
	for given, want := range map[string]int{
		"1": 1, "4": 4, "0": 7, "-1": 7, "-9223372036854775809": 7, "1.0": 7, "2147483647": maxCount,
		"2147483648": maxCount, "99999999999999999999": maxCount,
	} {
		if got := literal(given).positive(7); got != want {
			t.Errorf("%s: %d, want %d", given, got, want)
		}
	}
	if got := times(maxCount, maxCount); got != maxCount {
		t.Errorf("the product is %d", got)
	}
}

// TestGiven is how values are told: numbers as they are, strings quoted and cut, the rest by type.
func TestGiven(t *testing.T) {
	for _, tt := range []struct {
		given value
		want  string
	}{
		{literal("1e0"), "1e0"},
		{value{shape: strictjson.String, text: "a\n\x1b\"é"}, `"a\n\x1b\"\u00e9"`},
		{value{shape: strictjson.String, text: strings.Repeat("x", 64)}, `"` + strings.Repeat("x", 64) + `"`},
		{value{shape: strictjson.String, text: strings.Repeat("x", 65)}, `"` + strings.Repeat("x", 64) + `"...`},
		{value{shape: strictjson.String, text: "x" + strings.Repeat("猫", 30)}, `"x` + strings.Repeat(`\u732b`, 21) + `"...`},
		{value{shape: strictjson.Array}, "an array"},
		{value{shape: strictjson.Object}, "an object"},
		{value{shape: strictjson.True}, "true"},
		{value{shape: strictjson.False}, "false"},
		{value{shape: strictjson.Null}, "null"},
		{value{}, "nothing"},
	} {
		if got := tt.given.given(); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.given, got, tt.want)
		}
	}
}

// TestRowsAreComplete holds every row of the table to having all it needs to be printed, judged and laid beside the
// document.
func TestRowsAreComplete(t *testing.T) {
	for _, r := range rules {
		section, sentence, found := strings.Cut(r.From, ": ")
		switch {
		case r.When.holds == nil || r.When.text == "" || r.Check.find == nil:
			t.Errorf("%s judges nothing", r.ID)
		case r.Check.allowed == "" || r.Field == "":
			t.Errorf("%s does not say what is allowed where", r.ID)
		case r.Mode != ModeRefuse && r.Mode != ModeWarn:
			t.Errorf("%s has the mode %q", r.ID, r.Mode)
		case !found || sentence == "" || !strings.Contains("123ML", section):
			t.Errorf("%s comes from nowhere: %q", r.ID, r.From)
		}
		for _, text := range []string{r.ID, r.Field, r.Check.allowed, r.Check.limit} {
			if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c >= utf8.RuneSelf }) {
				t.Errorf("%s: %q is no text for a header", r.ID, text)
			}
		}
	}
}

// TestIdleChecksFindNothing holds the short cut to what it cuts short: a check that calls itself idle finds nothing in
// a request of which nothing is known.
func TestIdleChecksFindNothing(t *testing.T) {
	q := Request{Kind: KindText, facts: new(facts)}
	for _, r := range rules {
		if !r.Check.idle(q.facts) {
			continue
		}
		if r.Check.field == fieldUnknown && r.Check.find(&q).count > 0 {
			t.Errorf("%s is idle and finds something", r.ID)
		}
	}
	for _, v := range []value{{shape: strictjson.Null}, {}} {
		for f := range q.facts.values {
			q.facts.values[f] = v
		}
		for _, id := range []string{"text.n", "text.stop", "image.edit.size"} {
			for _, r := range rules {
				if r.ID == id && !r.Check.idle(q.facts) {
					t.Errorf("%s is asked about %s", id, v.shape)
				}
			}
		}
	}
}

func TestHosts(t *testing.T) {
	for host, want := range map[string]bool{
		"a": true, "a.example": true, "A-1.example": true, "under_score.example": true, "a:80": true, "192.0.2.1": true,
		"[::1]": true, "[::1]:8080": true, "[::ffff:192.0.2.1]": true, "a:": true, "a.": true,
		"": false, ":80": false, "a:b": false, "a:123456": false, "a b": false, "a@b": false, "a\\b": false, "é": false,
		"[": false, "[]": false, "[::1": false, "[::1]x": false, "[::g]": false, "[::1]:x": false, "a%41": false, "a,b": false,
	} {
		if got := isHost([]byte(host)); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

func TestToolNames(t *testing.T) {
	for c := range rune(0x100) {
		legal := c < utf8.RuneSelf && strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", c)
		if isToolName(string(c)) != legal {
			t.Errorf("%q: %v", c, !legal)
		}
	}
}
