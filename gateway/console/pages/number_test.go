package pages

import (
	"testing"
	"time"

	"sluice/policy/unit"
)

func TestNumbersForPeople(t *testing.T) {
	for got, want := range map[string]string{
		grouped(0): "0", grouped(999): "999", grouped(1234567): "1,234,567", grouped(-1234): "−1,234",
		compact(99999): "99,999", compact(123456): "123\u00a0k", compact(1240000): "1.24\u00a0M", compact(71540700): "71.5\u00a0M",
		rounded(unit.Nanos, 160_594_999_999, 2): "160.59", rounded(unit.Nanos, 160_595_000_000, 2): "160.60", rounded(unit.Nanos, 3, 2): "<0.01",
		rounded(unit.Nanos, -5_000_000_000, 2): "−5.00", rounded(unit.Nanos, 123_456, 4): "0.0001", rounded(unit.Nanos, 9, 4): "<0.0001",
		span(310 * time.Microsecond): "0.31 ms", span(812 * time.Millisecond): "812 ms", span(3200 * time.Millisecond): "3.2 s",
		span(250 * time.Second): "4 min 10 s", span(3*time.Hour + 5*time.Minute): "3 h 5 min", span(300 * time.Hour): "12 days", span(-1): "0 s",
		rounded(unit.Nanos, -3, 2): ">−0.01", several(1, "key"): "1 key", several(3, "key"): "3 keys",
		string(money(unit.Nanos, 160_595_000_000, 2)): `<data value="160.595" title="160.595">160.60</data>`,
		string(money(unit.Nanos, 0, 4)):               `<data value="0" class="zero">0</data>`,
		string(count(1234)):                           `<data value="1234">1,234</data>`,
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestAMomentHasUTCInItsTooltip(t *testing.T) {
	at := time.Date(2026, 11, 22, 19, 4, 5, 0, time.FixedZone("", 3600))
	if got := moment(formSecond, at); got != `<time data-form="second" datetime="2026-11-22T18:04:05.000Z" title="2026-11-22 18:04:05 `+
		`UTC">22 Nov 18:04:05 UTC</time>` {
		t.Error(got)
	}
	if got := moment(formDay, time.Time{}); got != "–" {
		t.Error(got)
	}
}
