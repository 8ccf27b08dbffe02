package teams_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sluice/policy/teams"
)

// aDigest is the SHA-256 of no key in these tests.
const aDigest = "00000000000000000000000000000000000000000000000000000000000000aa"

// testBounds puts values in the place of V in a file. A refused one gives exactly one fault, at the field.
func testBounds(t *testing.T, file, field string, legal, refused []string) {
	t.Helper()
	for _, value := range legal {
		if _, err := teams.Parse([]byte(strings.Replace(file, "V", value, 1))); err != nil {
			t.Errorf("%s: %q is refused: %v", field, value, err)
		}
	}
	for _, value := range refused {
		faults := faultsOf(t, []byte(strings.Replace(file, "V", value, 1)))
		if len(faults) != 1 || faults[0].Field != field || faults[0].Line != 1 {
			t.Errorf("%s: %q gives %v, want one fault there", field, value, faults)
		}
	}
}

func team(members string) string { return "{teams: [{id: search, " + members + "}]}" }

func key(members string) string { return team("keys: [{" + members + "}]") }

// TestBoundsOfTeamIDs: no name can be misread in a state key, a metric or a path. Some have a Cyrillic е, a full-width s, a joiner.
func TestBoundsOfTeamIDs(t *testing.T) {
	testBounds(t, "{teams: [{id: V}]}", "teams[0].id",
		[]string{"a", "0", "007", "1e5", "true", "search", "search-2", "a-", strings.Repeat("a", 63)},
		[]string{
			strings.Repeat("a", 64), `""`, "-a", "Search", "sea rch", `" search"`, `"search "`, `"search\n"`, `"a:b"`,
			`"{a}"`, `"a}"`, `"*"`, "a_b", "a.b", "a/b", "sеarch", "ｓearch", "sea\u200drch", "null", "[search]",
			"{search: 1}",
		})
}

// TestBoundsOfKeys: ids, digests and ends of keys. Go's zero time would mean never.
func TestBoundsOfKeys(t *testing.T) {
	testBounds(t, key("id: V, sha256: "+aDigest), "teams[0].keys[0].id",
		[]string{"7f3k9q2m4x1c", "123456789012", "12345678e901"},
		[]string{"7f3k9q2m4x1", "7f3k9q2m4x1cc", "7f3k9q2m4x1C", "7f3k9q2m-x1c"})
	testBounds(t, key("id: 7f3k9q2m4x1c, sha256: V"), "teams[0].keys[0].sha256",
		[]string{aDigest, strings.ToUpper(aDigest), strings.Repeat("1", 64)}, []string{
			aDigest[1:], aDigest + "0", aDigest + "00", "g" + aDigest[1:], `""`,
			"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", // of nothing
		})
	testBounds(t, key("id: 7f3k9q2m4x1c, sha256: "+aDigest+", expires: V"), "teams[0].keys[0].expires",
		[]string{"2027-06-30T00:00:00Z", "2027-06-30T00:00:00.5+08:00", `"2027-06-30T00:00:00Z"`},
		[]string{"2027-06-30", "2027-06-31T00:00:00Z", "2027-06-30T00:00:00", "never", "0001-01-01T00:00:00Z"})
}

// TestBoundsOfLists: lists that grant access. An empty one must not mean all.
func TestBoundsOfLists(t *testing.T) {
	testBounds(t, team("models: V"), "teams[0].models", []string{`["*"]`}, []string{"[]", "null", "llm-max"})
	testBounds(t, team("models: [V]"), "teams[0].models[0]",
		[]string{strings.Repeat("m", 128), "2.6", "модель"},
		[]string{strings.Repeat("m", 129), `""`, `"a b"`, `"a\u200bb"`, `"a\u0007"`})
	testBounds(t, team("endpoints: V"), "teams[0].endpoints", []string{"[text, tasks]"}, []string{"[]", "", "text"})
	testBounds(t, team("endpoints: [V]"), "teams[0].endpoints[0]", []string{"other"}, []string{"Text", `"*"`})
	testBounds(t, team("rules: {header.sse: V}"), "teams[0].rules.header.sse",
		[]string{"refuse", "warn", "off", `"off"`},
		[]string{"Off", "false", ""})
	testBounds(t, "{teams: [], currency: V}", "currency",
		[]string{"CNY", "credits2", strings.Repeat("c", 16)},
		[]string{strings.Repeat("c", 17), "2c", `"C N"`})
}

// TestOnlyTrueAndFalseAreSwitches: words that other YAML readers take for true are refused, not guessed.
func TestOnlyTrueAndFalseAreSwitches(t *testing.T) {
	for _, field := range []string{"disabled", "shadow"} {
		testBounds(t, team(field+": V"), "teams[0]."+field, []string{"true", "false"}, []string{"yes", "on", "1", `"true"`, "True", ""})
	}
}

// TestBoundsOfCounts: requests and tasks at once.
func TestBoundsOfCounts(t *testing.T) {
	for _, field := range []string{"concurrent", "open_tasks"} {
		testBounds(t, team(field+": V"), "teams[0]."+field,
			[]string{"1", "1000000", "none"},
			[]string{"0", "1000001", "-1", "1.0", `"1"`, "1_000", "0x10", "010", "+1", "99999999999999999999", ""})
	}
}

// TestBoundsOfRates: the window, the limit and the burst, one by one.
func TestBoundsOfRates(t *testing.T) {
	testBounds(t, team("rates: {requests: {per: V, limit: 2}}"), "teams[0].rates.requests.per",
		[]string{"1s", "1h", "60m", "1m30s"},
		[]string{"999ms", "0s", "1h1s", "1500ms", "-1m", "60", "1d", ""})
	testBounds(t, team("rates: {requests: {per: 1s, limit: V, burst: 2}}"), "teams[0].rates.requests.limit",
		[]string{"1"},
		[]string{"0", "-1", "1.5", "9007199254740992"})
	testBounds(t, team("rates: {requests: {per: 1s, limit: 5, burst: V}}"), "teams[0].rates.requests.burst",
		[]string{"1"},
		[]string{"0", "-1", "none"})
	testBounds(t, team("rates: {requests: V}"), "teams[0].rates.requests", []string{"none"}, []string{"600", "[]"})
}

// TestRatesAreExactAndFitOneUnit: burst × per stays exact, a bucket fills within a year, and one unit fits into it.
func TestRatesAreExactAndFitOneUnit(t *testing.T) {
	for _, tt := range []struct {
		per, limit, burst string
		legal             bool
	}{
		{"1s", "9007199254", "9007199254", true}, // × 1,000,000 µs is just below 2⁵³
		{"1s", "9007199255", "9007199255", false},
		{"1h", "2501999", "2501999", true},
		{"1h", "2502000", "2502000", false},
		{"1h", "1000000000", "2501999", true}, // the limit itself is never multiplied
		{"1h", "1", "8784", true},             // 366 days
		{"1h", "1", "8785", false},
		{"1h", "2", "17568", true},
		{"1h", "2", "17569", false},
		{"1m", "7", "1", false}, // 8,571,428.6 µs: the bucket is rounded down, the unit up
		{"1m", "7", "2", true},
		{"1m", "6", "1", true},
		{"1s", "1000000", "1", true}, // a microsecond each
		{"1s", "4000000", "3", false},
		{"1s", "4000000", "4", true},
	} {
		doc := team(fmt.Sprintf("rates: {tokens: {per: %s, limit: %s, burst: %s}}", tt.per, tt.limit, tt.burst))
		if _, err := teams.Parse([]byte(doc)); (err == nil) != tt.legal {
			t.Errorf("%s per %s, burst %s: %v, want legal %v", tt.limit, tt.per, tt.burst, err, tt.legal)
		}
	}
}

// TestBoundsOfQuotas: amounts of units are whole, amounts of money exact to nine decimals.
func TestBoundsOfQuotas(t *testing.T) {
	testBounds(t, team("quotas: {tokens: {day: V}}"), "teams[0].quotas.tokens.day",
		[]string{"0", "9007199254740991", "none"},
		[]string{"-1", "9007199254740992", "1.0", "1e3", "all"})
	testBounds(t, team("quotas: {spend: {month: V}}")+"\n#", "teams[0].quotas.spend.month", []string{
		"0", "800", "800.00", "0.000000001", "9007199.254740991", "none", "1e3", "1.23e-7", "0e999999999999",
		"9007199254740991E-9", "1.5000000000",
	}, []string{
		"0.0000000001", "9007199.254740992", "-0.01", "-0", ".5", "1e-10", "1.23e-9", "1e7", "1e999999999",
		"1e-999999999", "-1e-7", "1e", "1e+", ".5e1", "5.", "01", "1_000", "0x10", ".inf", ".nan", `"1"`,
		"1" + strings.Repeat("0", 400), "",
	})
}

// TestSpendIsExact: no amount passes through a float, which cannot represent most of these.
func TestSpendIsExact(t *testing.T) {
	for text, want := range map[string]int64{
		"0.1": 100_000_000, "0.3": 300_000_000, "0.000000003": 3, "1.000000001": 1_000_000_001, "4503599.627370497": 4_503_599_627_370_497,
		"9007199.254740991": teams.MaxAmount, "123456.7": 123_456_700_000_000,
		"1.23e-7": 123, "1E-9": 1, "3e-1": 300_000_000, "4503599627370497e-9": 4_503_599_627_370_497, "0.0000000001e+1": 1, "90.0e2": 9_000_000_000_000,
	} {
		list := mustParse(t, team("quotas: {spend: {day: "+text+"}}"))
		if got := list.List[0].Quotas[0].Limit; got != want {
			t.Errorf("%s is %d, want %d", text, got, want)
		}
	}
}

// TestFieldsThatPricesAndAccountNeed: the required fields of an entry.
func TestFieldsThatPricesAndAccountNeed(t *testing.T) {
	testBounds(t, "{teams: [], prices: [V]}", "prices[0]",
		[]string{"{model: a, image: 0}", "{model: a, input_per_million: 1}", "{model: a, output_per_million: 0.5}"},
		[]string{"{model: a}", "{image: 1}", "1", "[]"})
	testBounds(t, "{teams: [], account: [V]}", "account[0]",
		[]string{"{requests: {per: 1s, limit: 1}}", "{models: [a], images: {per: 1s, limit: 1}}"},
		[]string{"{models: [a]}", "{requests: none}", "1"})
}

// TestUnknownAndRepeatedFieldsEverywhere: an unknown field and a repeated one are faults wherever they stand.
func TestUnknownAndRepeatedFieldsEverywhere(t *testing.T) {
	for path, doc := range map[string]string{
		"zzz":                        "{teams: [], V}",
		"defaults.zzz":               "{teams: [], defaults: {shadow: true, V}}",
		"teams[0].zzz":               team("shadow: true, V"),
		"teams[0].keys[0].zzz":       key("id: 7f3k9q2m4x1c, sha256: " + aDigest + ", V"),
		"teams[0].rates.zzz":         team("rates: {V}"),
		"teams[0].rates.tokens.zzz":  team("rates: {tokens: {per: 1m, limit: 1, V}}"),
		"teams[0].quotas.zzz":        team("quotas: {V}"),
		"teams[0].quotas.tokens.zzz": team("quotas: {tokens: {V}}"),
		"teams[0].rules.zzz":         team("rules: {V}"),
		"account[0].zzz":             "{teams: [], account: [{requests: {per: 1s, limit: 1}, V}]}",
		"account[0].requests.zzz":    "{teams: [], account: [{requests: {per: 1s, limit: 1, V}}]}",
		"prices[0].zzz":              "{teams: [], prices: [{model: a, image: 1, V}]}",
	} {
		testBounds(t, doc, path, nil, []string{"zzz: off"})
		faults := faultsOf(t, []byte(strings.Replace(doc, "V", "zzz: off, zzz: warn", 1)))
		if !slices.ContainsFunc(faults, func(f teams.Fault) bool { return f.Field == path && strings.HasPrefix(f.Text, "stands twice") }) {
			t.Errorf("%s twice gives %v", path, faults)
		}
	}
}
