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

// teamsBound is a value in the place of V in a file, and whether it is legal there. A refused one has exactly one fault.
type teamsBound struct {
	value string
	legal bool
}

func testBounds(t *testing.T, file, field string, bounds []teamsBound) {
	t.Helper()
	for _, tt := range bounds {
		doc := strings.Replace(file, "V", tt.value, 1)
		if tt.legal {
			if _, err := teams.Parse([]byte(doc)); err != nil {
				t.Errorf("%s: %q is refused: %v", field, tt.value, err)
			}
			continue
		}
		if faults := faultsOf(t, []byte(doc)); len(faults) != 1 || faults[0].Field != field || faults[0].Line != 1 {
			t.Errorf("%s: %q gives %v, want one fault there", field, tt.value, faults)
		}
	}
}

func team(members string) string { return "{teams: [{id: search, " + members + "}]}" }

func key(members string) string { return team("keys: [{" + members + "}]") }

// TestBoundsOfTeamIDs: no name can be misread in a state key, a metric or a path.
func TestBoundsOfTeamIDs(t *testing.T) {
	testBounds(t, "{teams: [{id: V}]}", "teams[0].id", []teamsBound{
		{"a", true},
		{"0", true},
		{"007", true},
		{"1e5", true},
		{"true", true},
		{"search", true},
		{"search-2", true},
		{"a-", true},
		{strings.Repeat("a", 63), true},
		{strings.Repeat("a", 64), false},
		{`""`, false},
		{"-a", false},
		{"Search", false},
		{"sea rch", false},
		{`" search"`, false},
		{`"search "`, false},
		{`"search\n"`, false},
		{`"a:b"`, false},
		{`"{a}"`, false},
		{`"a}"`, false},
		{`"*"`, false},
		{"a_b", false},
		{"a.b", false},
		{"a/b", false},
		{"sеarch", false}, // Cyrillic е
		{"ｓearch", false}, // full-width s
		{"sea\u200drch", false},
		{"null", false},
		{"[search]", false},
		{"{search: 1}", false},
	})
}

// TestBoundsOfKeys: ids and digests of keys.
func TestBoundsOfKeys(t *testing.T) {
	testBounds(t, key("id: V, sha256: "+aDigest), "teams[0].keys[0].id", []teamsBound{
		{"7f3k9q2m4x1c", true}, {"123456789012", true}, {"12345678e901", true},
		{"7f3k9q2m4x1", false}, {"7f3k9q2m4x1cc", false}, {"7f3k9q2m4x1C", false}, {"7f3k9q2m-x1c", false},
	})
	testBounds(t, key("id: 7f3k9q2m4x1c, sha256: V"), "teams[0].keys[0].sha256", []teamsBound{
		{aDigest, true}, {strings.ToUpper(aDigest), true}, {strings.Repeat("1", 64), true},
		{aDigest[1:], false}, {aDigest + "0", false}, {aDigest + "00", false}, {"g" + aDigest[1:], false}, {`""`, false},
		{"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", false},
	})
	testBounds(t, key("id: 7f3k9q2m4x1c, sha256: "+aDigest+", expires: V"), "teams[0].keys[0].expires", []teamsBound{
		{"2027-06-30T00:00:00Z", true}, {"2027-06-30T00:00:00.5+08:00", true}, {`"2027-06-30T00:00:00Z"`, true},
		{"2027-06-30", false}, {"2027-06-31T00:00:00Z", false}, {"2027-06-30T00:00:00", false}, {"never", false},
		{"0001-01-01T00:00:00Z", false}, // Go's zero time, which would mean never
	})
}

// TestBoundsOfLists: lists that grant access. An empty one must not mean all.
func TestBoundsOfLists(t *testing.T) {
	testBounds(t, team("models: V"), "teams[0].models", []teamsBound{{`["*"]`, true}, {"[]", false}, {"null", false}, {"llm-max", false}})
	testBounds(t, team("models: [V]"), "teams[0].models[0]", []teamsBound{
		{strings.Repeat("m", 128), true}, {strings.Repeat("m", 129), false}, {"2.6", true}, {`""`, false}, {`"a b"`, false}, {`"a\u200bb"`, false}, {`"a\u0007"`, false}, {"модель", true},
	})
	testBounds(t, team("endpoints: V"), "teams[0].endpoints", []teamsBound{{"[text, tasks]", true}, {"[]", false}, {"", false}, {"text", false}})
	testBounds(t, team("endpoints: [V]"), "teams[0].endpoints[0]", []teamsBound{{"other", true}, {"Text", false}, {`"*"`, false}})
	testBounds(t, team("rules: {header.sse: V}"), "teams[0].rules.header.sse", []teamsBound{
		{"refuse", true}, {"warn", true}, {"off", true}, {`"off"`, true}, {"Off", false}, {"false", false}, {"", false},
	})
	testBounds(t, "{teams: [], currency: V}", "currency", []teamsBound{
		{"CNY", true}, {"credits2", true}, {strings.Repeat("c", 16), true}, {strings.Repeat("c", 17), false}, {"2c", false}, {`"C N"`, false},
	})
}

// TestOnlyTrueAndFalseAreSwitches: words that other YAML readers take for true are refused, not guessed.
func TestOnlyTrueAndFalseAreSwitches(t *testing.T) {
	for _, field := range []string{"disabled", "shadow"} {
		testBounds(t, team(field+": V"), "teams[0]."+field, []teamsBound{
			{"true", true}, {"false", true}, {"yes", false}, {"on", false}, {"1", false}, {`"true"`, false}, {"True", false}, {"", false},
		})
	}
}

// TestBoundsOfCounts: requests and tasks at once.
func TestBoundsOfCounts(t *testing.T) {
	for _, field := range []string{"concurrent", "open_tasks"} {
		testBounds(t, team(field+": V"), "teams[0]."+field, []teamsBound{
			{"1", true}, {"1000000", true}, {"none", true}, {"0", false}, {"1000001", false}, {"-1", false}, {"1.0", false}, {`"1"`, false},
			{"1_000", false}, {"0x10", false}, {"010", false}, {"+1", false}, {"99999999999999999999", false}, {"", false},
		})
	}
}

// TestBoundsOfRates: the window, the limit and the burst, one by one.
func TestBoundsOfRates(t *testing.T) {
	testBounds(t, team("rates: {requests: {per: V, limit: 2}}"), "teams[0].rates.requests.per", []teamsBound{
		{"1s", true}, {"1h", true}, {"60m", true}, {"1m30s", true},
		{"999ms", false}, {"0s", false}, {"1h1s", false}, {"1500ms", false}, {"-1m", false}, {"60", false}, {"1d", false}, {"", false},
	})
	testBounds(t, team("rates: {requests: {per: 1s, limit: V, burst: 2}}"), "teams[0].rates.requests.limit", []teamsBound{
		{"1", true}, {"0", false}, {"-1", false}, {"1.5", false}, {"9007199254740992", false},
	})
	testBounds(t, team("rates: {requests: {per: 1s, limit: 5, burst: V}}"), "teams[0].rates.requests.burst", []teamsBound{
		{"1", true}, {"0", false}, {"-1", false}, {"none", false},
	})
	testBounds(t, team("rates: {requests: V}"), "teams[0].rates.requests", []teamsBound{{"none", true}, {"600", false}, {"[]", false}})
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
	testBounds(t, team("quotas: {tokens: {day: V}}"), "teams[0].quotas.tokens.day", []teamsBound{
		{"0", true}, {"9007199254740991", true}, {"none", true},
		{"-1", false}, {"9007199254740992", false}, {"1.0", false}, {"1e3", false}, {"all", false},
	})
	testBounds(t, team("quotas: {spend: {month: V}}")+"\n#", "teams[0].quotas.spend.month", []teamsBound{
		{"0", true}, {"800", true}, {"800.00", true}, {"0.000000001", true}, {"9007199.254740991", true}, {"none", true},
		{"0.0000000001", false}, {"9007199.254740992", false}, {"-0.01", false}, {"-0", false}, {".5", false},
		{"1e3", true}, {"1.23e-7", true}, {"0e999999999999", true}, {"9007199254740991E-9", true}, {"1.5000000000", true}, {"1e-10", false}, {"1.23e-9", false},
		{"1e7", false}, {"1e999999999", false}, {"1e-999999999", false}, {"-1e-7", false}, {"1e", false}, {"1e+", false}, {".5e1", false},
		{"5.", false}, {"01", false}, {"1_000", false}, {"0x10", false}, {".inf", false}, {".nan", false}, {`"1"`, false},
		{"1" + strings.Repeat("0", 400), false}, {"", false},
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
	testBounds(t, "{teams: [], prices: [V]}", "prices[0]", []teamsBound{
		{"{model: a, image: 0}", true}, {"{model: a, input_per_million: 1}", true}, {"{model: a, output_per_million: 0.5}", true},
		{"{model: a}", false}, {"{image: 1}", false}, {"1", false}, {"[]", false},
	})
	testBounds(t, "{teams: [], account: [V]}", "account[0]", []teamsBound{
		{"{requests: {per: 1s, limit: 1}}", true}, {"{models: [a], images: {per: 1s, limit: 1}}", true},
		{"{models: [a]}", false}, {"{requests: none}", false}, {"1", false},
	})
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
		testBounds(t, doc, path, []teamsBound{{"zzz: off", false}})
		faults := faultsOf(t, []byte(strings.Replace(doc, "V", "zzz: off, zzz: warn", 1)))
		if !slices.ContainsFunc(faults, func(f teams.Fault) bool { return f.Field == path && strings.HasPrefix(f.Text, "stands twice") }) {
			t.Errorf("%s twice gives %v", path, faults)
		}
	}
}
