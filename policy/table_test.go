package policy_test

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"slices"
	"strconv"
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

// ruleCase is a line of testdata/rules.txt: a request by the call's name, and the rules that it breaks.
type ruleCase struct {
	about string // the rule whose bound it shows
	call  string
	want  string // in their order by name; empty: none
	body  string
}

// ruleCases reads testdata/rules.txt.
func ruleCases(t testing.TB) (cases []ruleCase) {
	t.Helper()
	data, err := os.ReadFile("testdata/rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	about := ""
	for line := range strings.Lines(string(data)) {
		if id, ok := strings.CutPrefix(line, "# "); ok {
			about = strings.TrimSpace(id)
		} else if parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3); len(parts) == 3 {
			cases = append(cases, ruleCase{about, parts[0], strings.ReplaceAll(strings.Trim(parts[1], "-"), ",", " "), longhand(parts[2])})
		}
	}
	return cases
}

var repeated, hexByte = regexp.MustCompile(`<([^<>]+)\*([0-9]+)>`), regexp.MustCompile(`<[0-9a-f]{2}>`)

// longhand writes out what a data file writes short.
func longhand(text string) string {
	text = strings.NewReplacer("<hi>", `"input":{"messages":[{"role":"user","content":"hi"}]}`,
		"<cat>", `"input":{"messages":[{"role":"user","content":[`+oneImage+`]}]}`).Replace(text)
	text = repeated.ReplaceAllStringFunc(text, func(run string) string {
		parts := repeated.FindStringSubmatch(run)
		n, _ := strconv.Atoi(parts[2])
		return strings.Repeat(parts[1], n)
	})
	return hexByte.ReplaceAllStringFunc(text, func(digits string) string {
		c, _ := strconv.ParseUint(digits[1:3], 16, 8)
		return string([]byte{byte(c)})
	})
}

// TestRules shows both sides of every bound. It fails when a rule has no breach.
func TestRules(t *testing.T) {
	shown := map[string]bool{}
	for _, tt := range ruleCases(t) {
		got := verdict(t, &all, tt.call, tt.body)
		slices.Sort(got)
		if broke := strings.Join(got, " "); broke != tt.want {
			t.Errorf("%s: broke %q, want %q: %s %.300s", tt.about, broke, tt.want, tt.call, tt.body)
		}
		shown[tt.about] = shown[tt.about] || slices.Contains(strings.Fields(strings.ReplaceAll(tt.want, "?", "")), tt.about)
	}
	for _, id := range policy.RuleIDs() {
		if !shown[id] && !strings.HasPrefix(id, "header.") && !strings.Contains(id, ".image") && id != "text.media.address" {
			t.Errorf("rule %s has no breach in testdata/rules.txt", id)
		}
	}
}
