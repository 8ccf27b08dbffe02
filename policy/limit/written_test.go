package limit

import (
	"testing"

	"pgregory.net/rapid"

	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Amounts are read exactly as they are written.
func TestWritten(t *testing.T) {
	for _, tt := range []struct {
		unit unit.Name
		n    int64
		text string
	}{
		{unit.NameTokens, 0, "0"}, {unit.NameTokens, unit.Most, "9007199254740991"}, {unit.NameSpend, 0, "0"},
		{unit.NameSpend, 1, "0.000000001"}, {unit.NameSpend, -1_500_000_000, "-1.5"}, {unit.NameSpend, 10 * teams.Nano, "10"},
		{unit.NameSpend, unit.Most, "9007199.254740991"},
	} {
		if got := unit.Nanos.Written(tt.unit, tt.n); got != tt.text {
			t.Errorf("%d %s is written %s, want %s", tt.n, tt.unit, got, tt.text)
		}
	}
	for _, text := range []string{"", "x", "1.5", "1e3", "0x10", "1_000", "1/2", "9007199254740992", "-9007199254740992", "NaN", "Inf"} {
		if n, ok := unit.Nanos.Read(unit.NameTokens, text); ok {
			t.Errorf("%q was read as %d tokens", text, n)
		}
	}
	for text, want := range map[string]int64{"-1.23e-7": -123, "1e-9": 1, "5E2": 500 * teams.Nano, "+1.5": 1_500_000_000, "-0e5": 0,
		"10e-10": 1} {
		if n, ok := unit.Nanos.Read(unit.NameSpend, text); !ok || n != want {
			t.Errorf("%q was read as %d of 10⁻⁹, %v; want %d", text, n, ok, want)
		}
	}
	for _, text := range []string{"", ".", "e5", "-", "1e", "1e-10", "1.5e-9", "1e10", "1e999999999", "-1e-999999999",
		"1e99999999999999999999", "0x1p3", "1/2"} {
		if n, ok := unit.Nanos.Read(unit.NameSpend, text); ok {
			t.Errorf("%q was read as %d of 10⁻⁹", text, n)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(-unit.Most, unit.Most).Draw(t, "n")
		name := rapid.SampledFrom(unit.Names[:]).Draw(t, "unit")
		if got, ok := unit.Nanos.Read(name, unit.Nanos.Written(name, n)); !ok || got != n {
			t.Fatalf("%d %s is written %q and read %d", n, name, unit.Nanos.Written(name, n), got)
		}
	})
}
