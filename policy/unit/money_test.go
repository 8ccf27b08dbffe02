package unit_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"sluice/policy/unit"
)

func TestAmountsAreWrittenInBothParts(t *testing.T) {
	for _, tt := range []struct {
		money unit.Money
		n     int64
		text  string
	}{
		{unit.Nanos, 1_500_000_000, "1.5"}, {unit.Micros, 1_500_000, "1.5"}, {unit.Micros, 1, "0.000001"}, {unit.Micros, -2_000_000, "-2"},
		{unit.Nanos, unit.Most, "9007199.254740991"}, {unit.Micros, unit.Most, "9007199254.740991"},
	} {
		if got := tt.money.Written("spend", tt.n); got != tt.text {
			t.Errorf("%d with %d digits is %s, want %s", tt.n, tt.money.Digits(), got, tt.text)
		}
		if n, ok := tt.money.Read("spend", tt.text); !ok || n != tt.n {
			t.Errorf("%s with %d digits is %d, want %d", tt.text, tt.money.Digits(), n, tt.n)
		}
		if got := tt.money.Written("tokens", tt.n); got == tt.text {
			t.Errorf("tokens are written as money: %s", got)
		}
	}
	for _, n := range []int64{unit.Most + 1, -3 * unit.Most, 1<<63 - 1} { // rows of the ledger may be beyond Most
		if got, ok := unit.Nanos.ReadSum("spend", unit.Nanos.Written("spend", n)); !ok || got != n {
			t.Errorf("a sum of %d is read as %d", n, got)
		}
	}
	if n, ok := unit.Nanos.ReadSum("spend", "9223372037"); ok {
		t.Errorf("a sum beyond 64 bits is read as %d", n)
	}
	for _, text := range []string{"0.0000001", "9007199255", "1e-7"} {
		if n, ok := unit.Micros.Read("spend", text); ok {
			t.Errorf("%s was read as %d", text, n)
		}
	}
}

// What is counted in one part is the same in another, rounded up, and at most what can be counted.
func TestPartsAreConverted(t *testing.T) {
	for _, tt := range []struct{ n, want int64 }{{0, 0}, {1, 1}, {1000, 1}, {1001, 2}, {1_500_000_000, 1_500_000}} {
		if got := unit.Micros.In(unit.Nanos, tt.n); got != tt.want {
			t.Errorf("%d is %d, want %d", tt.n, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, unit.Most).Draw(t, "n")
		want := min(n, unit.Most/1000) * 1000
		if n > unit.Most/1000 {
			want = unit.Most
		}
		if got := unit.Nanos.In(unit.Micros, n); got != want || unit.Nanos.In(unit.Nanos, n) != n {
			t.Fatalf("%d is %d, want %d", n, got, want)
		}
	})
}

// The usual part is left out of JSON, so that nothing changes for those who never heard of another.
func TestMoneyInJSON(t *testing.T) {
	for money, want := range map[unit.Money]string{unit.Nanos: `{"currency":"CNY"}`, unit.Micros: `{"currency":"CNY","currency_digits":6}`} {
		text, err := json.Marshal(unit.Currency{Word: "CNY", Money: money})
		var read unit.Currency
		if err == nil {
			err = json.Unmarshal(text, &read)
		}
		if err != nil || string(text) != want || read.Money != money {
			t.Errorf("%s, %+v, %v", text, read, err)
		}
	}
	var read unit.Currency
	if err := json.Unmarshal([]byte(`{"currency_digits":7}`), &read); err == nil {
		t.Errorf("7 digits were read as %+v", read)
	}
}

func TestOneHasItsNoun(t *testing.T) {
	for several, want := range map[string]string{"teams": "team", "entries": "entry"} {
		if one, two := unit.Noun(1, several), unit.Noun(2, several); one != want || two != several {
			t.Errorf("1 %s, 2 %s, want %s and %s", one, two, want, several)
		}
	}
}
