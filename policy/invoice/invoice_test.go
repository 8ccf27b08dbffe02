package invoice_test

import (
	"fmt"
	"io"
	"maps"
	"math/big"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"sluice/policy/invoice"
	"sluice/policy/limit"
	"sluice/policy/unit"
)

// A map with everything: kinds by words, units by a column, times of another zone.
const example = `
date: {column: BillingDate, format: "2006-01-02 15:04", zone: Asia/Shanghai}
account: {column: Account}
model: {column: Model}
kind: {column: Item}
quantity: {column: Usage, unit: {column: Unit}}
amount: {column: Cost}
units: {"1k tokens": 1000, token: 1, piece: 1}
kinds: [{pattern: "*cache hit*", kind: cached}, {pattern: "*input*", kind: input}, {pattern: "*image*", kind: image}]
skip: [{column: Item, pattern: "*refund*"}]
`

const heads = "BillingDate,Account,Model,Item,Usage,Unit,Cost\n"

// ofNovember names the days, so that none is left out.
var ofNovember = invoice.Span{From: 20261101, To: 20261130}

func TestABillIsAddedUp(t *testing.T) {
	m, err := invoice.ParseMap([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, lines, want string }{
		{"a line", "2026-11-21 12:00,a,llm-max,input,1.5,1k tokens,0.00375\n", "20261121 llm-max input 1500 3750000"},
		{"a day of Shanghai begins on the day before in UTC", "2026-11-21 07:59,a,m,input,1,token,0\n", "20261120 m input 1 0"},
		{"the first pattern counts", "2026-11-21 12:00,a,m,input cache hit,2,token,1\n", "20261121 m cached 2 1000000000"},
		{"a word without a pattern", "2026-11-21 12:00,a,m,what,2,token,1\n", "20261121 m unknown 2 1000000000"},
		{"lines of one item", "2026-11-21 12:00,a,m,input,2,token,1\n2026-11-21 13:00,b,m,input,3,token,0.5\n", "20261121 m input 5 1500000000"},
		{"a line that is left out", "2026-11-21 12:00,a,m,refund of input,2,token,-1\n2026-11-21 12:00,a,m,input,2,token,1\n",
			"20261121 m input 2 1000000000"},
		{"a line without a quantity", "2026-11-21 12:00,a,m,input,,,1\n", "20261121 m input 0 1000000000"},
		{"a line without quantity and amount", "2026-11-21 12:00,a,m,input,,,\n2026-11-21 12:00,a,m,input,2,token,1\n",
			"20261121 m input 2 1000000000"},
		{"no amount for a quantity of 0", "2026-11-21 12:00,a,m,input,0.00,token, \n2026-11-21 12:00,a,m,input,2,token,1\n",
			"20261121 m input 2 1000000000"},
		{"more than a limit counts", "2026-11-21 12:00,a,m,input,1,token,12000004\n2026-11-21 12:00,a,m,input,-27021597764222973,token,0\n",
			"20261121 m input -27021597764222972 12000004000000000"},
		{"an exponent", "2026-11-21 12:00,a,m,input,1E3,token,1.25e-7\n", "20261121 m input 1000 125"},
		{"a part of the smallest amount is rounded", "2026-11-21 12:00,a,m,input,1,token,0.0000000015\n", "20261121 m input 1 2"},
		{"amounts are added before they are rounded", strings.Repeat("2026-11-21 12:00,a,m,input,0.4,token,0.0000000004\n", 5),
			"20261121 m input 2 2"},
		{"so are refunds", "2026-11-21 12:00,a,m,input,-0.7,token,-0.0000000007\n2026-11-21 12:00,a,m,input,0.3,token,0.0000000003\n",
			"20261121 m input 0 0"},
		{"digits beyond any", strings.Repeat("2026-11-21 12:00,a,m,input,1,token,0.00000000033333333333333333333\n", 3), "20261121 m input 3 1"},
		{"quotes", "\"2026-11-21 12:00\",a,\"m,1\",input,1,token,1\n", "20261121 m,1 input 1 1000000000"},
	} {
		sums, err := invoice.Read(strings.NewReader(heads+tt.lines), m, ofNovember)
		if got := written(sums); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, tt.want)
		}
	}
}

// Sluice's own bills name the kinds. Their requests have no kind, and are neither tokens nor pictures.
func TestOwnBillsKnowKinds(t *testing.T) {
	sums, err := invoice.Read(
		strings.NewReader("BilledCost,BillingAccountName,ChargePeriodStart,PricingQuantity,ServiceName,x_Images,x_Kind,x_Tokens\n"+
			"0.001,us,2026-11-21T00:00:00Z,10,m,0,cached,10\n0.2,us,2026-11-21T00:00:00Z,1,m,1,image,0\n0,us,2026-11-21T00:00:00Z,7,m,0,,0\n"+
			"0.3,us,2026-11-21T00:00:00Z,,adjustment,-2,unknown,-5\n"), &invoice.Focus, invoice.Span{})
	want := "20261121 adjustment image -2 0; 20261121 adjustment unknown -5 300000000; 20261121 m cached 10 1000000; 20261121 m image 1 " +
		"200000000; 20261121 m unknown 0 0"
	if got := written(sums); err != nil || got != want {
		t.Fatalf("%s %v", got, err)
	}
	r := invoice.Compare(sums, []invoice.Use{
		{Day: 20261121, Model: "m", Kind: "cached", Used: used(12, 0, 1_000_000)},
		{Day: 20261121, Model: "m", Kind: "image", Used: used(0, 1, 200_000_000)},
		{Day: 20261121, Model: limit.AdjustedModel, Kind: "unknown", Correction: true, Used: limit.Amounts{0, -5, -2, 300_000_000}},
	}, new(big.Rat))
	if got := differences(&r); got != "20261121 m cached -2 tokens +0, 0 by 0" {
		t.Error(got)
	}
}

func TestAccountsOfABill(t *testing.T) {
	m, _ := invoice.ParseMap([]byte(example))
	sums, err := invoice.Read(strings.NewReader(heads+"2026-11-21 12:00,b,m,input,1,token,1\n2026-11-21 "+
		"12:00,a,m,input,1,token,1\n2026-11-21 12:00,b,m,input,1,token,1\n"), m, ofNovember)
	if err != nil || fmt.Sprint(sums.Accounts) != "[a b]" {
		t.Error(sums, err)
	}
	// without a word it is main's
	for lines, want := range map[string]string{"2026-11-21,m,1,\n": "[]", "2026-11-21,m,1,\n2026-11-21,m,1,eu\n": "[eu main]"} {
		m, _ := invoice.ParseMap([]byte("date: {column: d}\nmodel: {column: m}\namount: {column: a}\naccount: {column: c}"))
		if sums, err := invoice.Read(strings.NewReader("d,m,a,c\n"+lines), m, invoice.Span{}); err != nil || fmt.Sprint(sums.Accounts) != want {
			t.Errorf("%q: %v, %v", lines, sums, err)
		}
	}
}

// A bill of several accounts is laid beside one. Its words are the ids of accounts, or the map names them. A line without one is main's.
func TestABillOfOneAccount(t *testing.T) {
	const head = "d,m,a,c\n"
	for _, tt := range []struct{ about, names, account, want string }{
		{"all", "", "", "20261121 m unknown 0 15000000000"},
		{"by its id", "", "eu", "20261121 m unknown 0 2000000000"},
		{"main by its id, or without", "", "main", "20261121 m unknown 0 5000000000"},
		{"by a name", ", names: {\"4711\": us, eu: eu}", "us", "20261121 m unknown 0 8000000000"},
		{"by two names", ", names: {\"4711\": eu, eu: eu}", "eu", "20261121 m unknown 0 10000000000"},
	} {
		m, err := invoice.ParseMap([]byte("date: {column: d}\nmodel: {column: m}\namount: {column: a}\naccount: {column: c" + tt.names + "}"))
		if err != nil {
			t.Fatal(err)
		}
		lines := "2026-11-21,m,1,main\n2026-11-21,m,2,eu\n2026-11-21,m,4,\n2026-11-21,m,8,4711\n"
		sums, err := invoice.Read(strings.NewReader(head+lines), m, invoice.Span{Account: tt.account})
		if got := written(sums); err != nil || got != tt.want {
			t.Errorf("%s: %s %v", tt.about, got, err)
		}
	}
	m, _ := invoice.ParseMap([]byte("date: {column: d}\nmodel: {column: m}\namount: {column: a}"))
	if sums, err := invoice.Read(strings.NewReader("d,m,a\n2026-11-21,m,1\n"), m, invoice.Span{Account: "eu"}); err != nil ||
		len(sums.Of) != 1 {
		t.Errorf("a bill without accounts is for the one asked for: %v, %v", sums, err)
	}
	ledger := func() []invoice.Use {
		return []invoice.Use{{Team: "a"}, {Team: "b", Account: "eu"}, {Team: "c", Account: "main"}}
	}
	for account, want := range map[string]string{"": "abc", "main": "ac", "eu": "b", "us": ""} {
		got := ""
		for _, u := range invoice.OnAccount(ledger(), account) {
			got += u.Team
		}
		if got != want {
			t.Errorf("the ledger of account %q is that of %q", account, got)
		}
	}
}

func TestDaysOutsideOfTheSpanAreLeftOut(t *testing.T) {
	m, _ := invoice.ParseMap([]byte("date: {column: d}\nmodel: {column: m}\namount: {column: a}"))
	sums, err := invoice.Read(strings.NewReader("\ufeffd,m,a\n2026-11-20,x,1\n2026-11-21,x,2\n2026-11-22,x,4\n2026-11-23,x,8\n"), m,
		invoice.Span{From: 20261121, To: 20261122})
	if got, want := written(sums), "20261121 x unknown 0 2000000000; 20261122 x unknown 0 4000000000"; err != nil || got != want {
		t.Errorf("%s %v", got, err)
	}
}

func written(sums *invoice.Sums) string {
	if sums == nil {
		return "nothing"
	}
	var lines []string
	all := map[invoice.Item]invoice.Sum{} // of all accounts
	for item, sum := range sums.Of {
		item.Account = ""
		all[item] = invoice.Sum{Quantity: all[item].Quantity + sum.Quantity, Amount: all[item].Amount + sum.Amount}
	}
	for item, sum := range all {
		lines = append(lines, fmt.Sprintf("%d %s %s %d %d", item.Day, item.Model, item.Kind, sum.Quantity, sum.Amount))
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// A bill of a month in Shanghai has only a part of its first and its last day in UTC, while the ledger has all of them.
func TestDaysOfWhichTheBillHasOnlyAPart(t *testing.T) {
	day := func(day int, tokens, spend int64) invoice.Use {
		return invoice.Use{Team: "a", Day: day, Model: "m", Kind: "input", Used: used(tokens, 0, spend)}
	}
	ledger := []invoice.Use{day(20261031, 24, 24e9), day(20261101, 24, 24e9), day(20261130, 24, 24e9)}
	lines := "2026-11-01 00:00,a,m,input,8,token,8\n2026-11-01 08:00,a,m,input,24,token,24\n2026-11-30 23:00,a,m,input,16,token,16\n"
	const shanghai = `date: {column: BillingDate, format: "2006-01-02 15:04", zone: Asia/Shanghai}`
	for _, tt := range []struct {
		about, date, lines           string
		span                         invoice.Span
		leftOut, partial, days, want string
		within                       bool
	}{
		{"its days by itself", shanghai, lines, invoice.Span{}, "20261031 20261130", "", "20261101", "", true},
		{"days that the span names", shanghai, lines, invoice.Span{From: 20261031, To: 20261130}, "", "20261031 20261130",
			"20261031 20261101 20261130", "", false},
		{"one that it names", shanghai, lines, invoice.Span{From: 20261031}, "20261130", "20261031", "20261031 20261101", "", false},
		{"days within", shanghai, lines, invoice.Span{From: 20261101, To: 20261101}, "", "", "20261101", "", true},
		{"of one account, whose own lines begin later", shanghai, strings.Replace(lines, "00:00,a", "00:00,b", 1), invoice.Span{Account: "a"},
			"20261031 20261130", "", "20261101", "", true},
		{"of a zone behind UTC", strings.Replace(shanghai, "Asia/Shanghai", "America/Lima", 1),
			"2026-10-31 01:00,a,m,input,1,token,1\n2026-10-31 20:00,a,m,input,24,token,24\n2026-11-01 19:00,a,m,input,1,token,1\n",
			invoice.Span{}, "20261031 20261102", "", "20261101", "", true},
		{"of UTC", strings.Replace(shanghai, "Asia/Shanghai", "UTC", 1), strings.Replace(lines, "11-01 00:00", "10-31 16:00", 1), invoice.Span{},
			"", "", "20261031 20261101 20261130",
			"20261031 a tokens -16; 20261031 a spend -16000000000; 20261130 a tokens -8; 20261130 a spend -8000000000", false},
		{"of times that name their zone", strings.Replace(shanghai, "15:04", "15:04Z07:00", 1),
			strings.NewReplacer(":00,a", ":00+08:00,a").Replace(lines), invoice.Span{}, "20261031 20261130", "", "20261101", "", true},
		{"of dates without hours", strings.Replace(shanghai, " 15:04", "", 1), "2026-11-01,a,m,input,24,token,24\n", invoice.Span{}, "", "",
			"20261101", "", true},
	} {
		m, err := invoice.ParseMap([]byte(strings.Replace(example, shanghai, tt.date, 1)))
		if err != nil {
			t.Fatal(err)
		}
		sums, err := invoice.Read(strings.NewReader(heads+tt.lines), m, tt.span)
		if err != nil {
			t.Errorf("%s: %v", tt.about, err)
			continue
		}
		billed := map[int]bool{}
		for item := range sums.Of {
			billed[item.Day] = true
		}
		from, to := tt.span.Of(sums)
		within := slices.DeleteFunc(slices.Clone(ledger), func(u invoice.Use) bool {
			return limit.DayText(u.Day) < from || limit.DayText(u.Day) > to
		})
		r := invoice.Compare(sums, within, new(big.Rat))
		row := func(days []int) string { return strings.Trim(fmt.Sprint(days), "[]") }
		if row(sums.LeftOut) != tt.leftOut || row(sums.Partial) != tt.partial || row(slices.Sorted(maps.Keys(billed))) != tt.days ||
			corrections(&r) != tt.want || r.Within != tt.within {
			t.Errorf("%s: left out %v, partial %v, of %v: %s, %v", tt.about, sums.LeftOut, sums.Partial, billed, corrections(&r), r.Within)
		}
	}
	m, _ := invoice.ParseMap([]byte(example))
	const want = "line 1, column 1: the bill has only a part of its days in UTC, 2026-10-31, 2026-11-01: allowed: more days, or these by " +
		"--from and --to"
	if _, err := invoice.Read(strings.NewReader(heads+lines[:strings.Index(lines, "\n")+1]), m, invoice.Span{}); err == nil ||
		err.Error() != want {
		t.Errorf("of one day: %v", err)
	}
}

// Spreadsheets put a mark before the heads, and may quote them.
func TestABillThatBeginsWithAMark(t *testing.T) {
	m, err := invoice.ParseMap([]byte("date: {column: d}\nmodel: {column: m}\namount: {column: a}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, heads := range []string{"d,m,a", `"d","m","a"`, "\ufeffd,m,a", "\ufeff\"d\",\"m\",\"a\""} {
		sums, err := invoice.Read(iotest.OneByteReader(strings.NewReader(heads+"\n2026-11-20,x,1\n")), m, invoice.Span{})
		if got := written(sums); err != nil || got != "20261120 x unknown 0 1000000000" {
			t.Errorf("%q: %s, %v", heads, got, err)
		}
	}
	for _, text := range []string{"", "\ufeff", "\xef\xbb"} {
		if _, err := invoice.Read(strings.NewReader(text), m, invoice.Span{}); err == nil ||
			!strings.HasPrefix(err.Error(), "line 1, column 1: no ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFaultsOfABillNameTheirPlace(t *testing.T) {
	m, _ := invoice.ParseMap([]byte(example))
	for _, tt := range []struct{ text, want string }{
		{"", "line 1, column 1: no heads of columns: EOF"},
		{"BillingDate,Account,Item\n",
			`line 1, column 1: no column "Model", "Usage", "Unit", "Cost"; the bill has "BillingDate", "Account", "Item"`},
		{"BillingDate,\"\x1b[2J\"\n", `line 1, column 1: no column "Account", "Model", "Item", "Usage", "Unit", "Cost",` +
			` "Item"; the bill has "BillingDate", "\x1b[2J"`},
		{heads, "line 1, column 1: no line to compare below the heads; left out are 0 by skip, 0 of other accounts, 0 of days that are not " +
			"compared"},
		{heads + "2026-11-21 12:00,a,m,refund of input,2,token,-1\n",
			"line 1, column 1: no line to compare below the heads; left out are 1 by skip, 0 of other accounts, 0 of days that are not compared"},
		{heads + "yesterday,a,m,input,1,token,1\n", `line 2, column 1: given "yesterday"; allowed: a date as 2006-01-02 15:04`},
		{heads + "2026-11-21 12:00,a,m,input,1,token,1\n2026-11-21 12:00,a,m,input,1,barrel,1\n",
			`line 3, column 30: the map's units lack "barrel"`},
		{heads + "2026-11-21 12:00,a,m,input,many,token,1\n",
			`line 2, column 28: given "many"; allowed: a quantity, at most 2305843009213693696`},
		{heads + "2026-11-21 12:00,a,m,input,1,token,CNY 1\n",
			`line 2, column 36: given "CNY 1"; allowed: an amount of money, at most 2305843009.213693696`},
		{heads + "2026-11-21 12:00,a,m,input,1,token,\n", `line 2, column 36: given ""; allowed: an amount of money beside a quantity,` +
			` 0 if it costs nothing; the map leaves such lines out by skip: [{column: "Cost", pattern: ""}]`},
		{heads + "2026-11-21 12:00,a,m,input,1,token,1e999999999\n",
			`line 2, column 36: given "1e999999999"; allowed: an amount of money, at most 2305843009.213693696`},
		{heads + "2026-11-21 12:00,a,m,input,.,token,1\n", `line 2, column 28: given "."; allowed: a quantity, at most 2305843009213693696`},
		{heads + "2026-11-21 12:00,a,m,input,1,token,2305843009.213693697\n",
			`line 2, column 36: given "2305843009.213693697"; allowed: an amount of money, at most 2305843009.213693696`},
		{heads + strings.Repeat("2026-11-21 12:00,a,m,input,1,token,9007199\n", 257),
			"line 258, column 36: the sum of its model and kind on that day is beyond what can be counted"},
		{heads + "2026-11-21 12:00,a,m,input,1,token,2305843009\n2026-11-22 12:00,a,m,input,1,token,2305843009\n" +
			"2026-11-23 12:00,a,m,input,1,token,-2305843009\n", "line 4, column 36: the sum of the bill is beyond what can be counted"},
		{heads + "2026-11-21 12:00,a,m,input,1\n", "line 2, column 1: wrong number of fields"},
		{heads + "2026-11-21 12:00,a,m,\"input,1,token,1\n", `line 2, column 39: extraneous or missing " in quoted-field`},
	} {
		if _, err := invoice.Read(strings.NewReader(tt.text), m, invoice.Span{}); err == nil || err.Error() != tt.want {
			t.Errorf("%q:\n%v\nwant %s", tt.text, err, tt.want)
		}
	}
}

func TestFaultsOfAMapNameTheirPlace(t *testing.T) {
	const least = "date: {column: d}\nmodel: {column: m}\namount: {column: a}\n"
	for _, tt := range []struct{ text, want string }{
		{"model: {column: m}\namount: {column: a}", "line 1, column 1: date.column: absent; allowed: the head of a column of the bill"},
		{"date: {column: d, zone: Asia/Atlantis}\nmodel: {column: m}\namount: {column: a}",
			`line 1, column 25: date.zone: given "Asia/Atlantis"; allowed: a name such as Asia/Shanghai`},
		{least + "kinds:\n- {pattern: x, kind: input}\n- {pattern: x, kind: words}",
			`line 6, column 22: kinds[1].kind: given "words"; allowed: input, cached, ` +
				"explicit_cached, cache_creation, image_input, video_input, audio_input, output, thinking, image, unknown"},
		{least + "units: {token: -1}", "line 4, column 16: units.token: given -1; allowed: 0 to 1,000,000,000 tokens or pictures"},
		{least + "quantity: {column: q, unit: {column: u}}",
			"line 1, column 1: units: absent; allowed: what one of each word of the column u is"},
		{least + "skip: [{column: x}]", `line 4, column 8: skip[0].pattern: absent; allowed: words of the column, with * for any others,` +
			` and "" for none`},
		{least + "kinds: [{kind: input}]", `line 4, column 9: kinds[0].pattern: absent; allowed: words of the column, with * for any others,` +
			` and "" for none`},
		{least + "skip: [{pattern: x}]", "line 4, column 8: skip[0].column: absent; allowed: the head of a column of the bill"},
		{"dates: {column: d}", `line 1, column 1: unknown field "dates"`},
		{"date: {column: d}\ndate: {column: d}", `line 2, column 1: mapping key "date" already defined at [1:1]`},
		{"date: [", "line 1, column 7: sequence end token ']' not found"},
		{"date: {column: [d]}", "line 1, column 16: cannot unmarshal []interface {} into Go struct field Map.Date of type string"},
	} {
		if _, err := invoice.ParseMap([]byte(tt.text)); err == nil || err.Error() != tt.want {
			t.Errorf("%q:\n%v\nwant %s", tt.text, err, tt.want)
		}
	}
}

func used(tokens, images, spend int64) limit.Amounts {
	return limit.Amounts{limit.Requests: 1, limit.Tokens: tokens, limit.Images: images, limit.Spend: spend}
}

// billOf is a bill of lines "20261121 llm-max input 1200 6000": day, model, kind, quantity, amount.
func billOf(lines ...string) *invoice.Sums {
	s := &invoice.Sums{Of: map[invoice.Item]invoice.Sum{}, Counted: true}
	for _, line := range lines {
		var item invoice.Item
		var sum invoice.Sum
		if _, err := fmt.Sscan(line, &item.Day, &item.Model, &item.Kind, &sum.Quantity, &sum.Amount); err != nil {
			panic(line + ": " + err.Error())
		}
		s.Of[item] = sum
	}
	return s
}

// differences writes those of a report in the form of billOf's lines.
func differences(r *invoice.Report) string {
	var lines []string
	for i := range r.Differences {
		d := &r.Differences[i]
		lines = append(lines, fmt.Sprintf("%d %s %s %+d %s %+d, %d by %d", d.Day, d.Model, d.Kind, d.Quantity(), d.Unit, d.Amount(),
			d.Estimated.Quantity, d.Requests))
	}
	return strings.Join(lines, "\n")
}

func TestABillBesideTheLedger(t *testing.T) {
	estimate := invoice.Use{Team: "shop", Day: 20261121, Model: "llm-max", Used: used(500, 0, 2500), Estimated: used(200, 0, 1000)}
	for _, tt := range []struct {
		name string
		bill *invoice.Sums
		rows []invoice.Use
		want string
	}{
		{"the same", billOf("20261121 llm-max input 400 2000", "20261121 llm-max output 100 500"), []invoice.Use{estimate}, ""},
		{"kinds that the ledger does not know are added up", billOf("20261121 llm-max input 500 2600", "20261121 llm-max output 100 500"),
			[]invoice.Use{estimate},
			"20261121 llm-max unknown +100 tokens +600, 200 by 1"},
		{"rows of teams and endpoints are added up", billOf("20261121 llm-max input 1500 7500"),
			[]invoice.Use{estimate, {Team: "search", Day: 20261121, Model: "llm-max", Used: used(1000, 0, 5001)}},
			"20261121 llm-max unknown +0 tokens -1, 200 by 1"},
		{"pictures", billOf("20261121 p image 3 600"), []invoice.Use{
			{Day: 20261121, Model: "p", Used: used(0, 4, 800), Estimated: used(0, 4, 800)}},
			"20261121 p image -1 images -200, 4 by 1"},
		{"pictures whose kind the bill does not say", billOf("20261121 p unknown 3 600"),
			[]invoice.Use{{Day: 20261121, Model: "p", Used: used(0, 4, 800)}},
			"20261121 p unknown -1 images -200, 0 by 0"},
		{"one side alone, and the largest first", billOf("20261123 theirs input 9 90", "20261122 theirs input 9 80"),
			[]invoice.Use{{Day: 20261122, Model: "ours", Used: used(7, 0, 85)}},
			"20261123 theirs input +9 tokens +90, 0 by 0\n20261122 ours unknown -7 tokens -85, 0 by 0\n20261122 theirs input +9 tokens +80, 0 by 0"},
		{"by kind, where both know it", billOf("20261121 m input 420 2100", "20261121 m cached 100 50"), []invoice.Use{
			{Day: 20261121, Model: "m", Used: limit.Amounts{limit.Requests: 9}},
			{Day: 20261121, Model: "m", Kind: "input", Used: used(400, 0, 2000)},
			{Day: 20261121, Model: "m", Kind: "cached", Used: used(100, 0, 50)}}, "20261121 m input +20 tokens +100, 0 by 0"},
		{"by kind and of equal sum", billOf("20261121 m input 400 70"),
			[]invoice.Use{{Day: 20261121, Model: "m", Kind: "cached", Used: used(400, 0, 70)}},
			"20261121 m cached -400 tokens -70, 0 by 0\n20261121 m input +400 tokens +70, 0 by 0"},
		{"estimates have no kinds, so all are added up", billOf("20261121 m input 420 2100"), []invoice.Use{
			{Day: 20261121, Model: "m", Kind: "input", Used: used(400, 0, 2000)},
			{Day: 20261121, Model: "m", Kind: "unknown", Used: used(30, 0, 90), Estimated: used(30, 0, 90)}},
			"20261121 m unknown -10 tokens +10, 30 by 1"},
		{"pictures by estimate are pictures", billOf("20261121 m image 3 60"),
			[]invoice.Use{{Day: 20261121, Model: "m", Kind: "image", Used: used(0, 2, 40)},
				{Day: 20261121, Model: "m", Kind: "unknown", Used: used(0, 2, 40), Estimated: used(0, 2, 40)}},
			"20261121 m image -1 images -20, 2 by 1"},
		{"what costs nothing on both sides", billOf("20261122 free input 0 0"),
			[]invoice.Use{{Day: 20261122, Model: "free", Used: used(0, 0, 0)}}, ""},
	} {
		r := invoice.Compare(tt.bill, tt.rows, new(big.Rat))
		if got := differences(&r); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// What is of unknown kind counts as tokens beside pictures, whichever of them the comparison meets first.
func TestUnknownKindsBesidePictures(t *testing.T) {
	other := invoice.Use{Team: "a", Day: 20261121, Model: "other", Kind: "input", Used: used(10, 0, 10)}
	pictures := invoice.Use{Team: "a", Day: 20261121, Model: "p", Kind: "image", Used: used(0, 3, 600)}
	tokens := invoice.Use{Team: "a", Day: 20261121, Model: "p", Kind: "input", Used: used(10, 0, 10)}
	for _, tt := range []struct {
		about             string
		bill              *invoice.Sums
		rows              []invoice.Use
		proposed, differs string
	}{
		{"a fee beside pictures", billOf("20261121 p unknown 0 5", "20261121 p image 3 600"), []invoice.Use{pictures},
			"20261121 a spend 5", "20261121 p unknown +0 tokens +5, 0 by 0"},
		{"a fee beside tokens and pictures", billOf("20261121 p input 10 10", "20261121 p unknown 0 5", "20261121 p image 3 600"),
			[]invoice.Use{tokens, pictures},
			"20261121 a spend 5", "20261121 p unknown +0 tokens +5, 0 by 0"},
		{"a model that the ledger lacks", billOf("20261121 other input 10 10", "20261121 p unknown 7 5", "20261121 p image 3 600"),
			[]invoice.Use{other},
			"20261121 a tokens 7; 20261121 a images 3; 20261121 a spend 605",
			"20261121 p image +3 images +600, 0 by 0\n20261121 p unknown +7 tokens +5, 0 by 0"},
		{"a model that the ledger lacks, with a fee", billOf("20261121 other input 10 10", "20261121 p unknown 0 5", "20261121 p image 3 600"),
			[]invoice.Use{other},
			"20261121 a images 3; 20261121 a spend 605", "20261121 p image +3 images +600, 0 by 0\n20261121 p unknown +0 tokens +5, 0 by 0"},
		{"tokens beside pictures of unknown kind", billOf("20261121 p input 8 10", "20261121 p unknown 3 600"), []invoice.Use{pictures},
			"20261121 a tokens 8; 20261121 a spend 10", "20261121 p unknown +8 tokens +10, 0 by 0"},
	} {
		for range 100 { // in the order of a map
			r := invoice.Compare(tt.bill, tt.rows, new(big.Rat))
			if corrections(&r) != tt.proposed || differences(&r) != tt.differs {
				t.Errorf("%s:\n%s\n%s\nwant\n%s\n%s", tt.about, corrections(&r), differences(&r), tt.proposed, tt.differs)
				break
			}
		}
	}
	money := billOf("20261121 p unknown 0 610")
	money.Counted = false
	if r := invoice.Compare(money, []invoice.Use{tokens, pictures}, new(big.Rat)); len(r.Differences) != 0 {
		t.Errorf("of money alone the kinds are added up: %s", differences(&r))
	}
}

func TestModelsOfOneSide(t *testing.T) {
	rows := []invoice.Use{{Day: 20261121, Model: "both", Used: used(1, 0, 1)}, {Day: 20261121, Model: "ours", Used: used(1, 0, 1)},
		{Day: 20261121, Model: limit.AdjustedModel, Correction: true, Used: used(1, 0, 1)}}
	r := invoice.Compare(billOf("20261122 theirs input 1 1", "20261121 both input 1 1"), rows, new(big.Rat))
	if got := fmt.Sprint(r.BillOnly, r.LedgerOnly); got != "[theirs] [ours]" {
		t.Error(got)
	}
}

// Without quantities money alone is compared and corrected.
func TestABillWithoutQuantities(t *testing.T) {
	bill := billOf("20261121 a input 0 7", "20261121 b input 0 5")
	bill.Counted = false
	rows := []invoice.Use{{Team: "x", Day: 20261121, Model: "a", Used: used(10, 0, 7)},
		{Team: "x", Day: 20261121, Model: "b", Used: used(10, 0, 4)}}
	r := invoice.Compare(bill, rows, new(big.Rat))
	if got := fmt.Sprint(len(r.Differences), r.Differences[0].Model, corrections(&r)); got != "1b20261121 x spend 1" {
		t.Error(got)
	}
}

func TestTheTolerance(t *testing.T) {
	rows := []invoice.Use{{Day: 20261121, Model: "a", Used: used(1, 0, 995)}, {Day: 20261121, Model: "b", Used: used(1, 0, 1_000_000)}}
	bill := func(a, b int64) *invoice.Sums {
		return billOf(fmt.Sprintf("20261121 a input 1 %d", a), fmt.Sprintf("20261121 b input 1 %d", b))
	}
	corrected := func(spend int64) []invoice.Use {
		return append(slices.Clone(rows), invoice.Use{Day: 20261121, Model: limit.AdjustedModel, Correction: true,
			Used: limit.Amounts{limit.Spend: spend}})
	}
	for _, tt := range []struct {
		name string
		sums *invoice.Sums
		rows []invoice.Use
		want bool
	}{
		{"equal", bill(995, 1_000_000), rows, true},
		{"half a per cent of the bill", bill(1000, 1_000_000), rows, true},
		{"a little more, of one model alone", bill(1001, 1_000_000), rows, false},
		{"a little less", bill(989, 1_000_000), rows, false},
		{"a correction counts in the sum", bill(995, 1_000_000), corrected(300), true},
		{"a correction of tokens lets no model differ", bill(1995, 999_000),
			append(corrected(0), invoice.Use{Day: 20261121, Model: limit.AdjustedModel, Correction: true, Used: limit.Amounts{limit.Tokens: 1}}),
			false},
		{"one of money lets them", bill(1995, 999_000), corrected(1), true},
		{"a large correction is beyond it", bill(995, 1_000_000), corrected(6000), false},
		{"neither side has anything", billOf(), nil, true},
		{"a model on the bill alone", bill(995, 1_000_000), rows[1:], false},
		{"what balances within a day does not balance its models", bill(1995, 999_000), rows, false},
	} {
		if got := invoice.Compare(tt.sums, tt.rows, big.NewRat(5, 1000)).Within; got != tt.want {
			t.Errorf("%s: within %v", tt.name, got)
		}
	}
}

// The ledger and a bill that says the same differ in nothing, however their lines are divided.
func TestTheSameDiffersInNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bill := billOf()
		var rows []invoice.Use
		for range rapid.IntRange(0, 30).Draw(t, "lines") {
			tokens, spend := rapid.Int64Range(1, 1e9).Draw(t, "tokens"), rapid.Int64Range(0, 1e12).Draw(t, "spend")
			day, model := rapid.IntRange(20261101, 20261103).Draw(t, "day"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "model")
			rows = append(rows, invoice.Use{Day: day, Model: model, Used: used(tokens, 0, spend)})
			item := invoice.Item{Day: day, Model: model, Kind: rapid.SampledFrom([]string{"input", "output", "cached", "unknown"}).Draw(t, "kind")}
			bill.Of[item] = invoice.Sum{Quantity: bill.Of[item].Quantity + tokens, Amount: bill.Of[item].Amount + spend}
		}
		if r := invoice.Compare(bill, rows, new(big.Rat)); !r.Within || len(r.Differences) != 0 || r.Bill[limit.Spend] != r.Ledger[limit.Spend] {
			t.Fatalf("%+v", r)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(example, heads+"2026-11-21 12:00,a,m,input,1.5,1k tokens,0.00375\n")
	f.Add("date: {column: d}\nmodel: {column: m}\namount: {column: a}", "d,m,a\n2026-11-20,x,1e12\n")
	f.Fuzz(func(t *testing.T, mapText, text string) {
		m, err := invoice.ParseMap([]byte(mapText))
		if err != nil {
			return
		}
		if _, err := invoice.Read(strings.NewReader(text), m, invoice.Span{}); err != nil && strings.Contains(mapText, "column") &&
			err.Error() == "" {
			t.Error("an empty fault")
		}
	})
}

// millionLines is a bill of a million lines: 30 days, 50 models.
func millionLines() io.Reader {
	out, in := io.Pipe()
	go func() {
		_, _ = io.WriteString(in, heads)
		for n := range 1_000_000 {
			_, _ = fmt.Fprintf(in, "2026-11-%02d %02d:00,a,llm-%d,text input,%d.5,1k tokens,0.%06d\n", n%30+1, n%24, n%50, n%1000, n%1_000_000)
		}
		_ = in.Close()
	}()
	return out
}

// LONG=1 measures a million lines: at most 10 s and 100 MB, with what writes them.
func TestAMillionLines(t *testing.T) {
	if os.Getenv("LONG") == "" {
		t.Skip("LONG=1 reads a million lines")
	}
	m, _ := invoice.ParseMap([]byte(example))
	begun := time.Now()
	sums, err := invoice.Read(millionLines(), m, invoice.Span{})
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	took := time.Since(begun)
	t.Logf("%v, %d MB", took, memory.Sys>>20)
	if err != nil || len(sums.Of) == 0 || took > 10*time.Second || memory.Sys > 100<<20 {
		t.Errorf("%v, %d bytes of memory, %v", took, memory.Sys, err)
	}
}

func BenchmarkRead(b *testing.B) {
	m, _ := invoice.ParseMap([]byte(example))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := invoice.Read(millionLines(), m, invoice.Span{}); err != nil {
			b.Fatal(err)
		}
	}
}

// corrections writes those of a report.
// What the bill has more where no team used anything is not divided: the day is listed.
func TestWhatNobodyUsedIsListed(t *testing.T) {
	bill := &invoice.Sums{Of: map[invoice.Item]invoice.Sum{{Day: 20261121, Model: "m", Kind: "input"}: {Quantity: 10, Amount: 5}},
		Counted: true}
	r := invoice.Compare(bill, nil, new(big.Rat))
	if len(r.Corrections) != 0 || fmt.Sprint(r.Unused) != "[{20261121 }]" {
		t.Errorf("%+v %v", r.Corrections, r.Unused)
	}
	credit := billOf("20261121 m input -10 -5")
	if r := invoice.Compare(credit, nil, new(big.Rat)); len(r.Corrections) != 0 || r.Unused != nil ||
		fmt.Sprint(r.Credits) != "[{20261121 }]" {
		t.Errorf("a credit: %+v %v %v", r.Corrections, r.Unused, r.Credits)
	}
	used := []invoice.Use{{Team: "search", Day: 20261121, Model: "m", Kind: "input",
		Used: limit.Amounts{limit.Requests: 1, limit.Tokens: 9, limit.Spend: 4}}}
	if r := invoice.Compare(bill, used, new(big.Rat)); len(r.Corrections) != 2 || r.Unused != nil {
		t.Errorf("%+v %v", r.Corrections, r.Unused)
	}
}

// A zone does nothing to dates without hours, which a warning says.
func TestAZoneOfDaysWarns(t *testing.T) {
	for date, warns := range map[string]bool{
		"zone: Asia/Shanghai": true, `format: "2006-01-02 15:04", zone: Asia/Shanghai`: false, "zone: UTC": false, `format: "2006/01/02"`: false,
	} {
		m, err := invoice.ParseMap([]byte("date: {column: D, " + date + "}\nmodel: {column: M}\namount: {column: A}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Warning("map.yaml"); strings.Contains(got,
			"warning: map.yaml: days of the bill are of Asia/Shanghai, those of the ledger of UTC") != warns || (got != "") != warns {
			t.Errorf("%s: %q", date, got)
		}
	}
}

func corrections(r *invoice.Report) string {
	var lines []string
	for _, c := range r.Corrections {
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprint(c.Day, " ", c.Team, " ", c.Account, " ", c.Unit, " ", c.Delta)), " "))
	}
	return strings.Join(lines, "; ")
}

// A day's difference is divided among the teams by what is estimated of them, to the last unit. No team gives back more than it used.
func TestCorrections(t *testing.T) {
	rows := []invoice.Use{
		{Team: "search", Day: 20261121, Model: "m", Used: used(1000, 0, 5000)},
		{Team: "shop", Day: 20261121, Model: "m", Used: used(500, 0, 2500), Estimated: used(200, 0, 0)},
		{Team: "none", Day: 20261121, Model: "m"},
	}
	eu := append(slices.Clone(rows), invoice.Use{Team: "shop", Account: "eu", Day: 20261121, Model: "m", Used: used(100, 0, 500)})
	onAccounts := func(named bool, accounts ...string) *invoice.Sums {
		s := &invoice.Sums{Of: map[invoice.Item]invoice.Sum{}, Counted: true, Accounts: accounts, Named: named}
		for i, account := range accounts {
			s.Of[invoice.Item{Day: 20261121, Account: account, Model: "m", Kind: "input"}] = invoice.Sum{Quantity: []int64{1400, 103}[i],
				Amount: []int64{7500, 500}[i]}
		}
		return s
	}
	for _, tt := range []struct {
		about    string
		bill     *invoice.Sums
		rows     []invoice.Use
		want     string
		unbilled string
	}{
		{"less is taken from estimates, more is divided by use; pictures by money", billOf("20261121 m input 1400 7600", "20261121 p image 2 1"),
			rows,
			"20261121 search images 1; 20261121 search spend 67; 20261121 shop tokens -100; 20261121 shop images 1; 20261121 shop spend 34", "[]"},
		{"beyond the estimates, from all", billOf("20261121 m input 650 7500"), rows, "20261121 search tokens -500; 20261121 shop tokens -350",
			"[]"},
		{"of each day", billOf("20261121 m input 1501 7500", "20261122 m input 3 0"), rows,
			"20261121 shop tokens 1; 20261122 search tokens 2; 20261122 shop tokens 1", "[]"},
		{"of no day that the bill lacks", billOf("20261120 m input 1 0"), rows, "20261120 shop tokens 1", "[{20261121 }]"},
		{"by account, which the ledger has", onAccounts(false, "main", "eu"), eu, "20261121 shop tokens -100; 20261121 shop eu tokens 3", "[]"},
		{"by account, which the map names", onAccounts(true, "main", "us"), rows,
			"20261121 shop tokens -100; 20261121 search us tokens 68; 20261121 search us spend 333; 20261121 shop us tokens 35; 20261121 " +
				"shop us spend 167", "[]"},
		{"not by the service's own numbers", onAccounts(false, "4711", "4712"), eu, "20261121 shop tokens -97", "[]"},
		{"an account that the bill lacks", onAccounts(false, "main"), eu, "20261121 shop tokens -100", "[{20261121 eu}]"},
	} {
		r := invoice.Compare(tt.bill, tt.rows, new(big.Rat))
		if got := corrections(&r); got != tt.want || fmt.Sprint(r.Unbilled) != tt.unbilled {
			t.Errorf("%s:\n%s %v\nwant\n%s %s", tt.about, got, r.Unbilled, tt.want, tt.unbilled)
		}
	}
}

// What is proposed makes each day equal, and is never more than a team used of it; after that the day is within any tolerance.
func TestCorrectionsMakeTheDaysEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bill, most := billOf(), map[string]int64{}
		var rows []invoice.Use
		for day := range 3 {
			for _, team := range []string{"a", "b", "c"} {
				u := invoice.Use{Team: team, Account: rapid.SampledFrom([]string{"", "eu"}).Draw(t, "account"), Day: 20261101 + day, Model: "m",
					Used: used(rapid.Int64Range(1, 1000).Draw(t, "used"), 0, rapid.Int64Range(1, 9000).Draw(t, "spend"))}
				u.Estimated[limit.Tokens] = rapid.Int64Range(0, u.Used[limit.Tokens]).Draw(t, "estimated")
				rows = append(rows, u)
				most[fmt.Sprint(u.Day, u.Team, u.Account, "tokens")], most[fmt.Sprint(u.Day, u.Team, u.Account, "spend")] = u.Used[limit.Tokens],
					u.Used[limit.Spend]
			}
			bill.Of[invoice.Item{Day: 20261101 + day, Model: "m", Kind: "input"}] = invoice.Sum{
				Quantity: rapid.Int64Range(-500, 5000).Draw(t, "billed"), Amount: rapid.Int64Range(-9000, 50_000).Draw(t, "cost"), // below 0: a credit
			}
		}
		r := invoice.Compare(bill, rows, new(big.Rat))
		credits := map[invoice.Cell]bool{}
		for item, sum := range bill.Of {
			if sum.Quantity < 0 || sum.Amount < 0 {
				credits[invoice.Cell{Day: item.Day}] = true
			}
		}
		if r.Unused != nil || len(r.Credits) != len(credits) || slices.ContainsFunc(r.Credits,
			func(of invoice.Cell) bool { return !credits[of] }) {
			t.Fatalf("listed are %v and %v, want %v", r.Unused, r.Credits, credits)
		}
		for _, c := range r.Corrections {
			if c.Delta < -most[fmt.Sprint(c.Day, c.Team, c.Account, c.Unit)] {
				t.Fatalf("%+v gives back more than was used", c)
			}
			u := invoice.Use{Team: c.Team, Account: c.Account, Day: c.Day, Model: limit.AdjustedModel, Correction: true}
			u.Used[unit.Index(c.Unit)] = c.Delta
			rows = append(rows, u)
		}
		again := invoice.Compare(bill, rows, new(big.Rat))
		if len(again.Corrections) > 0 || !slices.Equal(again.Credits, r.Credits) {
			t.Fatalf("after the corrections: %+v", again)
		}
		for item, sum := range bill.Of {
			var left limit.Amounts
			for i := range rows {
				if rows[i].Day == item.Day {
					left = left.Plus(rows[i].Used)
				}
			}
			if left[limit.Tokens] != max(sum.Quantity, 0) || left[limit.Spend] != max(sum.Amount, 0) {
				t.Fatalf("%d has %v after the corrections, want %+v", item.Day, left, sum)
			}
		}
		if again.Within != !slices.ContainsFunc(slices.Collect(maps.Values(bill.Of)), func(sum invoice.Sum) bool { return sum.Amount < 0 }) {
			t.Fatalf("after the corrections: within %v", again.Within)
		}
	})
}

// What requests were rounded up by is no difference: no more, and not on the bill.
func TestRoundingIsNoDifference(t *testing.T) {
	rows := []invoice.Use{{Team: "a", Day: 20261121, Model: "m", Used: used(100, 0, 130), Rounded: 30}}
	for amount, want := range map[int64]bool{100: true, 99: false, 115: true, 130: true, 131: false} {
		r := invoice.Compare(billOf(fmt.Sprintf("20261121 m input 100 %d", amount)), rows, new(big.Rat))
		if r.Within != want || r.Rounded != 30 {
			t.Errorf("%d on the bill, 130 in the ledger: within %v", amount, r.Within)
		}
	}
}
