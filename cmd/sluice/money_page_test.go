package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/gateway/simulator"
)

// ranExamples are the tests of the fenced blocks of docs/money.md, by the words at the beginning of a block and its first line. Besides,
// TestPagesShowTeamsFilesThatAreAccepted reads every teams file.
var ranExamples = map[string]string{
	"yaml currency: CNY":                    "TestTheBillsOfTheDocumentation",            // gateway/billing
	"yaml currency: IDR":                    "TestPagesShowTeamsFilesThatAreAccepted",    //
	"yaml teams:":                           "TestTheDocumentedKeyIsRefusedAsDocumented", // policy/limit
	"sh sluice raise":                       "TestTheManualsRaises",
	"http POST /api/v1/teams/search/raises": "TestTheManualsRaises",
	"yaml teams: []":                        "TestTheHouseOfTheDocumentation", // gateway/quotas
	" The house, which is all teams":        "TestTheHouseRefuses",            // gateway
	"text TEAM":                             "TestTheExampleOfKinds",          // gateway/admin
	`json {"day"`:                           "TestTheExampleOfKinds",          //
	"sh sluice reconcile":                   "TestTheManualsReconcile",
	" the bill is for account":              "TestAReconciliationForPeople", // gateway/admin
	"yaml map date:":                        "TestTheManualsReconcile",
	"yaml values reconcile:":                "TestChartReconciles",
	"sh mkdir -p trial":                     "TestTourOfMoney",
	"sh BASE=":                              "TestTourOfMoney",
	"sh until grep images":                  "TestTourOfMoney",
}

// Every example of docs/money.md is run or compared by a test, and every such test has its example.
func TestEveryExampleOfMoneyIsRun(t *testing.T) {
	seen := map[string]bool{}
	for _, block := range regexp.MustCompile("(?s)\n```([a-z ]*)\n(.+?)```\n").FindAllStringSubmatch(readRoot(t, "docs/money.md"), -1) {
		first, _, _ := strings.Cut(block[2], "\n")
		longest := ""
		for name := range ranExamples {
			if strings.HasPrefix(block[1]+" "+first, name) && len(name) > len(longest) {
				longest = name
			}
		}
		if seen[longest] = true; longest == "" {
			t.Errorf("no test runs the example %q", first)
		}
	}
	var tests strings.Builder
	for _, pattern := range []string{"*_test.go", "../../gateway/*_test.go", "../../gateway/*/*_test.go", "../../policy/*/*_test.go"} {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			text, err := os.ReadFile(name)
			must(t, err)
			tests.Write(text)
		}
	}
	for name, test := range ranExamples {
		if !seen[name] {
			t.Errorf("docs/money.md has no example %q", name)
		}
		if !strings.Contains(tests.String(), "\nfunc "+test+"(") {
			t.Errorf("the test of %q is gone: %s", name, test)
		}
	}
}

// The commands of docs/money.md run with the map beside them over a bill that has its columns.
func TestTheManualsReconcile(t *testing.T) {
	_, section, _ := strings.Cut(readRoot(t, "docs/money.md"), "\n## Reconcile with the bill\n")
	section, _, _ = strings.Cut(section, "\n## ")
	columns := regexp.MustCompile("(?s)\n```yaml map\n(.+?)```\n").FindStringSubmatch(section)
	dir := t.TempDir()
	t.Chdir(dir)
	must(t, os.WriteFile("map.yaml", []byte(columns[1]), 0o600))
	must(t, os.WriteFile("BILL.csv", []byte("BillingDate,Account,Model,Item,Usage,Unit,Cost\n"+
		"2020-01-01,4711,llm-max,refund of input,1,1k tokens,-3\n2020-01-01,4711,llm-max,input cache hit,1.5,1k "+
		"tokens,0\n2020-01-02,4711,llm-max,calls,7,request,\n"), 0o600))
	server := startRedis(t)
	environ := []string{"SLUICE_REDIS_URL=" + server.url()}
	_, upstream := newService(t, simulator.Config{})
	serving(t, upstream.URL, environ...).stop()
	ran := 0
	for _, block := range regexp.MustCompile("(?s)\n```sh\n(.+?)```\n").FindAllStringSubmatch(section, -1) {
		got := command(t.Context(), environ, strings.Fields(strings.TrimPrefix(block[1], "sluice "))...)
		if got.code != exitClean || !strings.Contains(got.stdout, "2020-01-01 llm-max cached: only on the bill: 1,500 tokens, 0\n") {
			t.Errorf("%s: %+v", block[1], got)
		}
		ran++
	}
	if ran != 2 {
		t.Errorf("%d commands ran", ran)
	}
}
