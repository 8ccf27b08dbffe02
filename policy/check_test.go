package policy

import (
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/policy/strictjson"
)

// TestRowsAreComplete: every row of the table can be printed, judged and compared with the document.
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

// TestIdleChecksFindNothing: a check that is idle finds nothing in an empty request.
func TestIdleChecksFindNothing(t *testing.T) {
	q := Request{Kind: KindText, facts: new(facts)}
	for _, r := range rules {
		if !candidateOf(&r).idle(q.facts) {
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
				if r.ID == id && !candidateOf(&r).idle(q.facts) {
					t.Errorf("%s judges %s", id, v.shape)
				}
			}
		}
	}
}
