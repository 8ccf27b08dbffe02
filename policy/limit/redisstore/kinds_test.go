package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/price"
	"sluice/policy/unit"
)

// joinScript adds sums to a row, as settlements do.
var joinScript = redis.NewScript("local QUOTA, TEAM = '', ''\n" + tables() + part("kinds") +
	"add_kinds(KEYS[1], kinds_field(ARGV[1]), {unpack(ARGV, 2)})\nreturn 1")

// piece is the most bytes of a value.
const piece = 64

// stored reads what Redis has of the row m|text by kind, and how long its longest piece is.
func stored(t testing.TB, client redis.UniversalClient, key string) (kinds price.ByKind, longest int) {
	t.Helper()
	s := &dayScan{rows: []limit.Row{{Model: "m", Endpoint: "text"}}}
	for field, value := range client.HGetAll(t.Context(), key).Val() {
		if !isKindsField(field) {
			t.Fatalf("the field %q", field)
		}
		s.addPiece(field, value)
		longest = max(longest, len(value))
	}
	s.addKinds()
	return s.rows[0].Kinds, longest
}

var anyLine = rapid.Custom(func(t *rapid.T) price.Line {
	l := price.Line{Kind: price.Kind(rapid.IntRange(0, price.Kinds-1).Draw(t, "kind"))}
	l.Quantity = rapid.OneOf(rapid.Int64Range(1, 5_000_000), rapid.Int64Range(1, unit.Most)).Draw(t, "quantity")
	l.Rate = rapid.OneOf(rapid.SampledFrom([]int64{0, 1, 333_333, 2_500_000_000, 10_000_000_000}), rapid.Int64Range(0, unit.Most)).
		Draw(t, "rate")
	p := price.Price{}
	if l.Kind == price.Image {
		word := rapid.SampledFrom([]string{"1K", "2K", "1048576", "2048x2048-pixels"}).Draw(t, "size")
		l.Quantity = min(l.Quantity, 1_000_000)
		p.Images = []price.Size{{Word: word, Image: l.Rate}}
		b, _ := price.Of(&p, &price.Usage{Images: l.Quantity, Size: word})
		return b[price.Image]
	}
	p.Rates.Set(price.Input, l.Rate)
	b, _ := price.Of(&p, &price.Usage{Input: l.Quantity})
	l.Amount = b[price.Input].Amount
	if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
		l.Amount = rapid.Int64Range(0, unit.Most).Draw(t, "amount")
	}
	return l
})

// The script and package price add up the same, bit for bit, whatever is added in whichever order and however the sums were cut, and no
// value in Redis has more than 64 bytes.
func TestTheScriptAddsUpKindsAsGoDoes(t *testing.T) {
	limittest.Redises(t, func(t *testing.T, client redis.UniversalClient) {
		rapid.Check(t, func(rt *rapid.T) {
			client.Del(t.Context(), "k")
			var want price.Sum
			for range rapid.IntRange(1, 8).Draw(rt, "calls") {
				args := []any{"m|text"}
				for range rapid.IntRange(1, 3).Draw(rt, "sums") {
					var sum price.Sum
					for _, l := range rapid.SliceOfN(anyLine, 0, 6).Draw(rt, "lines") {
						var b price.Bill
						b[l.Kind] = l
						sum.AddBill(&b)
					}
					args = append(args, string(sum.ByKind()))
					want.Add(sum.ByKind())
				}
				if err := joinScript.Run(t.Context(), client, []string{"k"}, args...).Err(); err != nil {
					rt.Fatal(err)
				}
				if got, longest := stored(t, client, "k"); got != want.ByKind() || longest > piece {
					rt.Fatalf("%q, want %q; the longest piece has %d bytes", got, want.ByKind(), longest)
				}
			}
		})
	})
}

// Whatever a field has, a settlement is not stopped: the script reads it as Go does.
func FuzzKindsInRedis(f *testing.F) {
	client := limittest.RealRedis(f)
	for _, text := range []string{"", "\x00", "\x99\x02\x31", "\xf0\x05\x07\x00\x05", strings.Repeat("\xff", 64),
		"\x20\xff\xff\xff\xff\xff\xff\xff\x0f\x01\x01", "\xcb0\xebX"} {
		f.Add([]byte(text), []byte("\x90\x01\x01"))
	}
	f.Add([]byte("0"), []byte("00\xc3\xc3*\xc3\xc3\xc3\xc3\xc3\xc3\xc3000000"))
	f.Fuzz(func(t *testing.T, text, more []byte) {
		if len(text) > piece-1 || len(more) > piece-1 {
			t.Skip()
		}
		client.Del(t.Context(), "k")
		client.HSet(t.Context(), "k", kindsField("m|text"), text)
		if err := joinScript.Run(t.Context(), client, []string{"k"}, "m|text", more).Err(); err != nil {
			t.Fatal(err)
		}
		var want price.Sum
		want.Add(price.ByKind(text))
		want.Add(price.ByKind(more))
		if got, _ := stored(t, client, "k"); got != want.ByKind() {
			t.Fatalf("%q and %q are %q, want %q", text, more, got, want.ByKind())
		}
	})
}

// A sum that grows beyond a piece, and shrinks again because its rates are mixed, leaves nothing behind.
func TestPiecesComeAndGo(t *testing.T) {
	client := limittest.RealRedis(t)
	add := func(lines ...price.Line) (fields int64) {
		var s price.Sum
		for _, l := range lines {
			var b price.Bill
			b[l.Kind] = l
			s.AddBill(&b)
		}
		if err := joinScript.Run(t.Context(), client, []string{"k"}, "m|text", string(s.ByKind())).Err(); err != nil {
			t.Fatal(err)
		}
		return client.HLen(t.Context(), "k").Val()
	}
	for n, want := range []int64{1, 1, 1, 1, 2} { // 16 bytes each: four fill a piece
		size := price.Line{Kind: price.Image, Size: fmt.Sprintf("%07d", n), Quantity: 1, Rate: 1<<40 + 1, Amount: 1<<40 + 1}
		if got := add(size); got != want {
			t.Errorf("%d sizes have %d fields, want %d", n+1, got, want)
		}
	}
	if kinds, _ := stored(t, client, "k"); len(kinds) != 5*16 {
		t.Errorf("%q", kinds)
	}
	client.Del(t.Context(), "k")
	var dear, cheap []price.Line
	for k := range price.Image {
		dear = append(dear, price.Line{Kind: k, Quantity: 1, Rate: 1<<48 + 1, Amount: (1<<48+1)/1_000_000 + 1})
		cheap = append(cheap, price.Line{Kind: k, Quantity: 1, Rate: 1_000_000, Amount: 1})
	}
	if first, second := add(dear...), add(cheap...); first != 2 || second != 1 {
		t.Errorf("%d fields, want 2; and of mixed rates %d, want 1", first, second)
	}
	kinds, _ := stored(t, client, "k")
	for l := range kinds.Lines() {
		if l.Quantity != 2 || l.Amount != (1<<48+1)/1_000_000+2 || l.Rate != price.Mixed {
			t.Errorf("%+v", l)
		}
	}
}

// A hold that expired has no kinds until its true use is known, which may be late: then the kinds have all of the row's spend.
func TestALateSettlementPostsItsKinds(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f)
		h := hold("a", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 900, limit.Spend: 9_000_000})
		held := f.held(h)
		f.admit(h)
		f.clock.Move(time.Hour)
		f.sweep("search")
		if got, want := partsOf(f), "unknown 900 tokens 9000000 estimated 9000000"; got != want {
			f.Errorf("expired: %s, want %s", got, want)
		}
		var p price.Price
		p.Rates.Set(price.Input, 2_500_000_000)
		bill, _ := price.Of(&p, &price.Usage{Input: 500, Cached: 100})
		f.clock.Move(24 * time.Hour)
		c := &limit.Charge{Held: held, Team: team, Amounts: limit.Amounts{limit.Requests: 1, limit.Tokens: 500, limit.Spend: bill.Total()},
			Bill: &bill}
		for range 2 {
			if _, err := f.tryCharge(c); err != nil {
				f.Fatal(err)
			}
			if got, want := partsOf(f), "input 400 tokens 1000000 at 2500000000, cached 100 tokens 250000 at 2500000000"; got != want {
				f.Errorf("settled: %s, want %s", got, want)
			}
		}
	})
}

// partsOf writes the parts of all rows.
func partsOf(f *form) string {
	var list []string
	for _, row := range f.rows() {
		for _, p := range row.Parts() {
			text := fmt.Sprintf("%s%s %d tokens %d", p.Kind, p.Size, p.Used[limit.Tokens], p.Used[limit.Spend])
			if p.Rate != price.Mixed {
				text += fmt.Sprintf(" at %d", p.Rate)
			}
			if p.Estimated[limit.Spend] != 0 {
				text += fmt.Sprintf(" estimated %d", p.Estimated[limit.Spend])
			}
			list = append(list, text)
		}
	}
	return strings.Join(list, ", ")
}
