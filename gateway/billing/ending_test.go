package billing

import (
	"fmt"
	"strings"
	"testing"

	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// thePrice is 1 for a token of input, 2 for one of output, 100 for a picture, in 10⁻⁹ of the currency.
func thePrice() *price.Price {
	p := new(price.Price)
	p.Rates.Set(price.Input, 1_000_000)
	p.Rates.Set(price.Output, 2_000_000)
	p.Rates.Set(price.Image, 100)
	return p
}

// What a request is charged, and how that was determined, by the end of its exchange.
func TestEndings(t *testing.T) {
	const (
		said = `{"output":{"text":"forty letters, which are ten tokens or so","finish_reason":"stop"},"usage":{"input_tokens":7,` +
			`"output_tokens":3}}`
		silent  = `{"output":{"text":"forty letters, which are ten tokens or so","finish_reason":"stop"}}`
		refused = `{"code":"Busy","message":"m"}`
		made    = `{"output":{%s"choices":[{"finish_reason":"stop","message":{"content":[{"image":"https://pictures/1"}]}}]},` +
			`"usage":{"image_count":1}}`
	)
	counts := func(usage string) string { return strings.TrimSuffix(silent, "}") + `,"usage":` + usage + "}" }
	text := Ending{Status: 200, Reached: true, Whole: true, Clean: true, Text: true, Held: limit.Amounts{1, 100, 0, 1000}, Input: 20}
	cut := text
	cut.Whole, cut.Clean = false, false
	little := cut
	little.Held = limit.Amounts{1, 5, 0, 1000}
	picture := Ending{Status: 200, Reached: true, Whole: true, Clean: true, Pictures: true, Held: limit.Amounts{1, 0, 4, 400}}
	creation := picture
	creation.Creates = true
	claimed := creation
	claimed.Claimed = true
	awaited := claimed
	awaited.Awaited = true
	with := func(e Ending, change func(*Ending)) Ending {
		change(&e)
		return e
	}
	status := func(n int) func(*Ending) { return func(e *Ending) { e.Status = n } }
	task := func(state string) string { return fmt.Sprintf(made, `"task_id":"t","task_status":"`+state+`",`) }
	for _, tt := range []struct {
		about  string
		ending Ending
		answer string // its frames, if it has line ends
		flag   string
		want   limit.Amounts
		kinds  string
	}{
		{"an answer with usage", text, said, telemetry.FlagExact, limit.Amounts{1, 10, 0, 13}, "input 7 output 3"},
		{"a usage whose total is its input", text, counts(`{"input_tokens":7,"total_tokens":7}`), telemetry.FlagExact,
			limit.Amounts{1, 7, 0, 7}, "input 7"},
		{"without usage", text, silent, telemetry.FlagEstimated, limit.Amounts{1, 30, 0, 40}, "input 20 output 10"},
		{"a stream that is cut", cut, strings.Replace(silent, `"stop"`, `"null"`, 1) + "\n\ndata:{", telemetry.FlagEstimated,
			limit.Amounts{1, 30, 0, 40}, "input 20 output 10"},
		{"a stream that is cut behind its usage", cut, strings.Replace(said, `"stop"`, `"null"`, 1) + "\n\n", telemetry.FlagEstimated,
			limit.Amounts{1, 17, 0, 27}, "input 7 output 10"},
		{"the same of more than was held", little, strings.Replace(said, `"stop"`, `"null"`, 1) + "\n\n", telemetry.FlagEstimated,
			limit.Amounts{1, 10, 0, 27}, ""}, {"cut before any content", cut, `{"outp`, telemetry.FlagUnknown, limit.Amounts{}, ""},
		{"not sent", with(text, func(e *Ending) { e.Reached = false }), "", telemetry.FlagNotSent, limit.Amounts{}, ""},
		{"no answer", with(text, status(0)), "", telemetry.FlagUnknown, limit.Amounts{}, ""},
		{"refused", with(text, status(429)), refused, telemetry.FlagRefused, limit.Amounts{1}, ""},
		{"a text's server error", with(text, status(500)), refused, telemetry.FlagRefused, limit.Amounts{1}, ""},
		{"a text's server error that is cut", with(cut, status(500)), refused[:9], telemetry.FlagUnknown, limit.Amounts{}, ""},
		{"one that is cut behind its end", with(cut, status(500)), refused, telemetry.FlagRefused, limit.Amounts{1}, ""},
		{"a 503 that is cut", with(cut, status(503)), refused[:9], telemetry.FlagUnknown, limit.Amounts{}, ""},
		{"a refusal that is cut", with(cut, status(429)), refused[:9], telemetry.FlagRefused, limit.Amounts{1}, ""},
		{"a forwarded path", with(text, func(e *Ending) { e.Forwarded = true }), said, telemetry.FlagExact, limit.Amounts{1}, ""},

		{"an answer that does not count its input", text, counts(`{"output_tokens":7}`), telemetry.FlagEstimated,
			limit.Amounts{1, 27, 0, 34}, "input 20 output 7"},
		{"one whose input is no number", text, counts(`{"input_tokens":-1,"output_tokens":7,"total_tokens":7}`), telemetry.FlagEstimated,
			limit.Amounts{1, 27, 0, 34}, "input 20 output 7"},
		{"one whose input its total tells", text, counts(`{"input_tokens":null,"output_tokens":7,"total_tokens":57}`), telemetry.FlagExact,
			limit.Amounts{1, 57, 0, 64}, "input 50 output 7"},
		{"one that counts of its input only what a cache had", text, counts(`{"output_tokens":7,"cached_tokens":50}`),
			telemetry.FlagEstimated, limit.Amounts{1, 57, 0, 64}, "cached 50 output 7"},
		{"one whose input is more than was held", with(text, func(e *Ending) { e.Held = limit.Amounts{1, 15, 0, 1000} }),
			counts(`{"output_tokens":7}`), telemetry.FlagEstimated, limit.Amounts{1, 15, 0, 34}, ""},
		{"one that does not count its output", text, counts(`{"input_tokens":7}`), telemetry.FlagEstimated, limit.Amounts{1, 17, 0, 27},
			"input 7 output 10"},
		{"one whose output its total tells", text, counts(`{"input_tokens":7,"total_tokens":9}`), telemetry.FlagExact,
			limit.Amounts{1, 9, 0, 11}, "input 7 output 2"},
		{"a total alone", text, counts(`{"total_tokens":9}`), telemetry.FlagExact, limit.Amounts{1, 9, 0, 18}, "output 9"},
		{"an embedding that counts its input alone", with(text, func(e *Ending) { e.Embeds = true }), counts(`{"input_tokens":7}`),
			telemetry.FlagExact, limit.Amounts{1, 7, 0, 7}, "input 7"},
		{"a stream that does not count its input", text, counts(`{"output_tokens":7}`) + "\n\n", telemetry.FlagEstimated,
			limit.Amounts{1, 27, 0, 34}, "input 20 output 7"},
		{"a form's answer that does not count its input", with(text, func(e *Ending) { e.Governed = true }),
			counts(`{"output_tokens":7}`), telemetry.FlagEstimated, limit.Amounts{1, 27, 0, 34}, "input 20 output 7"},
		{"a form's answer that counts no output, and may have none", with(text, func(e *Ending) { e.Governed = true }),
			counts(`{"input_tokens":7}`), telemetry.FlagExact, limit.Amounts{1, 7, 0, 7}, "input 7"},
		{"a stream that is cut, whose input its total tells", cut,
			strings.Replace(counts(`{"output_tokens":7,"total_tokens":57}`), `"stop"`, `"null"`, 1) + "\n\n", telemetry.FlagEstimated,
			limit.Amounts{1, 60, 0, 70}, "input 50 output 10"},

		{"an embedding", with(text, func(e *Ending) { e.Embeds = true }), said, telemetry.FlagExact, limit.Amounts{1, 10, 0, 10}, "input 10"},
		{"a form's answer without usage", with(text, func(e *Ending) { e.Governed = true }), silent, telemetry.FlagEstimated,
			limit.Amounts{1, 100, 0, 1000}, ""},
		{"one of more than was held", with(text, func(e *Ending) { e.Governed, e.Held = true, limit.Amounts{1, 5, 0, 10} }), silent,
			telemetry.FlagEstimated, limit.Amounts{1, 30, 0, 40}, "input 20 output 10"},

		{"a picture", picture, fmt.Sprintf(made, ""), telemetry.FlagExact, limit.Amounts{1, 0, 1, 100}, "image 1"},
		{"pictures that nobody counted", picture, `{"output":{}}`, telemetry.FlagEstimated, limit.Amounts{1, 0, 4, 400}, "image 4"},
		{"a creation's server error", with(creation, status(500)), refused, telemetry.FlagUnknown, limit.Amounts{}, ""},
		{"a whole 503 to a creation", with(creation, status(503)), refused, telemetry.FlagRefused, limit.Amounts{1}, ""},
		{"a creation that names nothing", creation, `{"output":{}}`, telemetry.FlagUnknown, limit.Amounts{}, ""},
		{"a creation with its result", creation, fmt.Sprintf(made, ""), telemetry.FlagExact, limit.Amounts{1, 0, 1, 100}, "image 1"},
		{"a task", claimed, task("PENDING"), telemetry.FlagTask, limit.Amounts{}, ""},
		{"a task that its stream ends", claimed, task("SUCCEEDED") + "\n\n", telemetry.FlagExact, limit.Amounts{1, 0, 1, 100}, "image 1"},
		{"a task that its stream ends, and whose pictures somebody waits for", awaited, task("SUCCEEDED") + "\n\n", telemetry.FlagTask,
			limit.Amounts{}, ""},
		{"a task that failed in its stream, where somebody waits", awaited, task("FAILED") + "\n\n", telemetry.FlagExact,
			limit.Amounts{1, 0, 1, 100}, "image 1"},
		{"a task that runs on behind its stream", claimed, strings.Replace(task("RUNNING"), `"stop"`, `"null"`, 1) + "\n\n", telemetry.FlagTask,
			limit.Amounts{}, ""},
		{"a task that its stream does not count", claimed, `{"output":{"task_id":"t","task_status":"SUCCEEDED"}}` + "\n\n", telemetry.FlagTask,
			limit.Amounts{}, ""},
		{"a task that failed in its stream", claimed, task("FAILED") + "\n\n", telemetry.FlagExact, limit.Amounts{1, 0, 1, 100}, "image 1"},
	} {
		reads := meter.New("application/json", "")
		if strings.Contains(tt.answer, "\n") {
			reads = meter.New("text/event-stream", "")
			tt.answer = "data:" + tt.answer
		}
		_, _ = reads.Write([]byte(tt.answer))
		reading := reads.End()
		tt.ending.Reading = &reading
		pricing, charge := Pricing{Price: thePrice()}, limit.Charge{}
		flag := tt.ending.Charge(&charge, &pricing)
		var kinds []string
		if charge.Bill == nil {
			charge.Bill = new(price.Bill)
		}
		for l := range charge.Bill.Lines() {
			kinds = append(kinds, fmt.Sprint(l.Kind, " ", l.Quantity))
		}
		if got := strings.Join(kinds, " "); flag != tt.flag || charge.Amounts != tt.want || got != tt.kinds {
			t.Errorf("%s: %s %v, %s; want %s %v, %s", tt.about, flag, charge.Amounts, got, tt.flag, tt.want, tt.kinds)
		}
	}
}
