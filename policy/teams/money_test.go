package teams_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

const inMicros = "currency_digits: 6\nhouse: {quotas: {spend: {month: 9007199254}}}\nteams:\n  - id: search\n    quotas: {spend: {day: " +
	"9007199254.740991}}\n"

// With six digits a quota of spend may be a thousand times larger, and amounts count in 10⁻⁶, wherever the line stands.
func TestAmountsCountInMicros(t *testing.T) {
	lines := strings.SplitAfterN(inMicros, "\n", 2)
	for _, doc := range []string{inMicros, lines[1] + lines[0]} {
		file := mustParse(t, doc)
		team := file.List[0]
		if file.Money != unit.Micros || team.Money != unit.Micros || team.Quotas[0].Limit != unit.Most {
			t.Errorf("%v, %+v", file.Money, team)
		}
		if house := file.House.Account; house.Money != unit.Micros || house.Quotas[0].Limit != 9_007_199_254_000_000 {
			t.Errorf("%+v", house)
		}
	}
	if f := faultsOf(t, []byte(lines[1])); !strings.Contains(f.Error(),
		"allowed: an amount from 0 to 9007199.254740991 with at most nine decimals") {
		t.Error(f)
	}
	want := "got \"1.0000001\", allowed: an amount from 0 to 9007199254.740991 with at most six decimals"
	if f := faultsOf(t, []byte("currency_digits: 6\nteams: [{id: a, quotas: {spend: {day: 1.0000001}}}]\n")); !strings.Contains(f.Error(),
		want) {
		t.Error(f)
	}
	for _, digits := range []string{"7", "0", "-6", `"6"`, "six", "6.0"} {
		if f := faultsOf(t, []byte("currency_digits: "+digits+"\nteams: []\n")); !strings.Contains(f.Error(), "currency_digits: got") {
			t.Error(f)
		}
	}
}

// A line of a bill is rounded up once, to the last digit: no price per million is too small for it.
func TestBillsInMicros(t *testing.T) {
	file := mustParse(t, "currency_digits: 6\nteams: []\nprices:\n  - {model: m, input_per_million: 0.5, output_per_million: "+
		"160000.000001, cached_per_million: 0.000001}\n  - {model: p, image: 3500}\n")
	m, p := file.Prices.For("m", 20261126), file.Prices.For("p", 20261126)
	for _, tt := range []struct {
		price *price.Price
		usage price.Usage
		want  [3]int64 // of input, cached and output, or of images
	}{
		{m, price.Usage{Input: 1}, [3]int64{1}},                                                      // 0.0000005
		{m, price.Usage{Input: 2}, [3]int64{1}},                                                      // 0.000001
		{m, price.Usage{Input: 3}, [3]int64{2}},                                                      // 0.0000015
		{m, price.Usage{Input: 4_000_001, Cached: 4_000_000}, [3]int64{1, 4}},                        // hits cost 0.000004
		{m, price.Usage{Output: 7}, [3]int64{0, 0, 1_120_001}},                                       // 1.12 and a trace
		{m, price.Usage{Input: 1_000_000, Output: 1_000_000}, [3]int64{500_000, 0, 160_000_000_001}}, // exact
		{p, price.Usage{Images: 2}, [3]int64{7_000_000_000}},
	} {
		bill, _ := price.Of(tt.price, &tt.usage)
		got := [3]int64{bill[price.Input].Amount + bill[price.Image].Amount, bill[price.Cached].Amount, bill[price.Output].Amount}
		if got != tt.want || bill.Total() != tt.want[0]+tt.want[1]+tt.want[2] {
			t.Errorf("%+v costs %v, want %v", tt.usage, got, tt.want)
		}
	}
}

// A change of the directory is judged by the digits of the teams file, and what it wrote is in force there.
func TestTheDirectoryCountsAsTheFile(t *testing.T) {
	create := teams.CreateTeam{Team: spec("large", "quotas", `{"spend":{"day":9007199254}}`)}
	var bad *teams.Problem
	if _, _, err := teams.Apply(teams.Document{}, create); !errors.As(err, &bad) || !strings.Contains(bad.Error(), "9007199.254740991") {
		t.Fatal(err)
	}
	d, _, err := teams.Apply(teams.Document{Money: unit.Micros}, create)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := teams.Apply(d, teams.ReplaceTeam{Team: spec("large", "quotas", `{"spend":{"day":0.0000001}}`), IfMatch: "*"}); err == nil {
		t.Error("a part of a micro was accepted")
	}
	joined, _, err := mustParse(t, inMicros).Join(d.Text(), none)
	if err != nil || joined.Team("large").Quotas[0].Limit != 9_007_199_254_000_000 || joined.Team("large").Money != unit.Micros {
		t.Errorf("%+v, %v", joined, err)
	}
	if _, err := teams.ReadDocument(d.Text()); err != nil {
		t.Error(err)
	}
}

// A raise says what it counts in, and one of before still adds as much.
func TestRaisesInMicros(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	file := mustParse(t, "currency_digits: 6\nteams: [{id: search, quotas: {spend: {day: 5}}}]\n")
	raise, err := teams.RaiseOrder{Unit: "spend", Period: "day", Amount: "9007199000.5", Reason: "x"}.Raise("a", file.List[0], now)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal([]teams.Raise{raise})
	list, err := teams.ReadRaises([]byte(strings.Replace(string(text), "]",
		`,{"id":"b","team":"search","unit":"spend","period":"day","amount":1.5,"until":"2026-11-27T00:00:00Z"}]`, 1)))
	if err != nil || !strings.Contains(string(text), `"currency_digits":6`) {
		t.Fatalf("%s %v", text, err)
	}
	raised, _ := file.Raised(list, now)
	if got := unit.Micros.Written("spend", raised.List[0].Quotas[0].Limit); got != "9007199007" {
		t.Error(got)
	}
	if _, err := (teams.RaiseOrder{Unit: "spend", Period: "day", Amount: "0.0000001", Reason: "x"}).Raise("a", file.List[0], now); err == nil {
		t.Error("a part of a micro was accepted")
	}
}
