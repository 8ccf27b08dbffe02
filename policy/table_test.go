package policy_test

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"sluice/policy"
)

var update = flag.Bool("update-rules", false, "write the golden table of rules anew")

// TestRulesGolden compares the printed table with the reviewers' copy.
func TestRulesGolden(t *testing.T) {
	var got bytes.Buffer
	if err := policy.WriteRules(&got, "X-Service-"); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/rules.golden", got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/rules.golden")
	if err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the table differs from testdata/rules.golden (go test -run RulesGolden -update-rules writes it): %v", err)
	}
}

// TestRuleIDs: every id is well-formed and unique.
func TestRuleIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, id := range policy.RuleIDs() {
		sort, _, _ := strings.Cut(id, ".")
		if seen[id] || !slices.Contains([]string{"header", "text", "image"}, sort) || strings.ToLower(id) != id {
			t.Errorf("id %s: twice, or of no known form", id)
		}
		seen[id] = true
	}
	for _, id := range []string{
		"image.prompt.length", "image.negative_prompt.length", "image.size.multiple", "image.interleave.stream",
		"header.async", "text.top_p",
	} {
		if !seen[id] {
			t.Errorf("the rule %s, named in the operator's contract, is missing", id)
		}
	}
}

// ruleCase is one rule with requests on both sides of its bound.
type ruleCase struct {
	id      string
	call    string
	pass    []string // bodies that break no rule at all
	breach  []string // bodies that break this rule, and no other
	besides string   // other rules that every breach breaks as well
}

// TestRules shows both sides of every bound. It fails when a rule has no case.
func TestRules(t *testing.T) {
	shown := map[string]bool{}
	for _, tt := range slices.Concat(textCases, parameterCases, toolCases, imageCases, sizeCases) {
		t.Run(tt.id, func(t *testing.T) {
			for _, body := range tt.pass {
				if got := verdict(t, &all, tt.call, body); len(got) > 0 {
					t.Errorf("legal, but broke %v: %.300s", got, body)
				}
			}
			want := strings.Fields(tt.id + " " + tt.besides)
			slices.Sort(want)
			for _, body := range tt.breach {
				got := verdict(t, &all, tt.call, body)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("broke %v, want %v: %.300s", got, want, body)
				}
			}
		})
		shown[strings.TrimSuffix(tt.id, "?")] = len(tt.breach) > 0 || shown[strings.TrimSuffix(tt.id, "?")]
	}
	for _, id := range policy.RuleIDs() {
		if !shown[id] && !strings.HasPrefix(id, "header.") && !strings.Contains(id, ".image") && id != "text.media.address" {
			t.Errorf("rule %s has no breach in this test", id)
		}
	}
}

// each makes bodies of several values by one function.
func each(body func(string) string, values ...string) []string {
	for i, v := range values {
		values[i] = body(v)
	}
	return values
}

// param makes text bodies of several values of one parameter.
func param(name string, values ...string) []string {
	return each(func(v string) string { return textBody("llm-max", `"`+name+`":`+v) }, values...)
}

// editParam and its like do the same for the image kinds.
func editParam(name string, values ...string) []string {
	return each(func(v string) string { return editBody(`"` + name + `":` + v) }, values...)
}

func interleaveParam(name string, values ...string) []string {
	return each(func(v string) string { return interleaveBody(`,"` + name + `":` + v) }, values...)
}

func syncParam(name string, values ...string) []string {
	return each(func(v string) string { return syncBody(`"` + name + `":` + v) }, values...)
}

// notBooleans are values that no switch accepts.
var notBooleans = []string{`"true"`, `1`, `0`, `[]`, `{}`}

var booleans = []string{`true`, `false`, `null`}
