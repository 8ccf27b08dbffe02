package billing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/telemetry/meter"
)

// Pricing is what a request is charged by.
type Pricing struct {
	Price       *price.Price // of its model on Day; nil: it has none
	Day         int          // of the admission, in UTC; 0: not looked up yet
	Size        string       // of a picture, as the request names it; empty: it names none
	Contradicts bool         // the answer's usage says more of a kind than of the whole
}

// Begin notes what a request asks for, and looks up the price at its arrival.
func (p *Pricing) Begin(prices price.List, q *policy.Request, at time.Time) {
	if policy.IsSize(q.Size) {
		p.Size = q.Size
	}
	p.Look(prices, q.Model, price.DayOf(at))
}

// Look looks up the price of a model on a day.
func (p *Pricing) Look(prices price.List, model string, day int) {
	if day != p.Day {
		p.Price, p.Day = prices.For(model, day), day
	}
}

// charge charges for a usage.
func (p *Pricing) charge(c *limit.Charge, used price.Usage) {
	bill, contradicts := price.Of(p.Price, &used)
	c.Bill, c.Amounts = &bill, limit.AmountsOf(&bill)
	p.Contradicts = p.Contradicts || contradicts
}

// Tells reports whether an answer says what was used: tokens, if they count, or what was made; makes: also that it is nothing.
func Tells(r *meter.Reading, tokens, makes bool) bool {
	n, made := r.Images()
	_, text := r.Usage.Tokens()
	return made && (makes || n > 0) || tokens && text
}

// UsageOf is what an answer says that a request used. Tokens count only for requests of text. size is the size of a picture as the
// request named it: the answer may not say it, and says it in pixels where prices may have the request's word.
func UsageOf(r *meter.Reading, text bool, size string) (used price.Usage) {
	u := &r.Usage
	if n, _ := r.Images(); n > 0 {
		used.Images = n
		if used.Pixels, used.Size = u.Size(); used.Pixels == 0 && used.Size == "" {
			used = price.Asked(n, size)
		}
		used.Asked = size
	}
	if !text {
		return used
	}
	used.Explicit = u.HitsExplicitCache()
	parts := [...]struct {
		of    meter.Field
		count *int64
	}{
		{meter.InputTokens, &used.Input},
		{meter.OutputTokens, &used.Output},
		{meter.TotalTokens, &used.Total},
		{meter.CachedTokens, &used.Cached},
		{meter.CacheCreationTokens, &used.CacheCreation},
		{meter.ReasoningTokens, &used.Thinking},
		{meter.ImageTokens, &used.ImageInput},
		{meter.VideoTokens, &used.VideoInput},
		{meter.AudioTokens, &used.AudioInput},
	}
	for _, part := range parts {
		*part.count, _ = u.Get(part.of)
	}
	if _, known := u.Get(meter.InputTokens); !known {
		used.Input = max(used.Cached+used.CacheCreation, used.ImageInput+used.VideoInput+used.AudioInput)
		if input, _ := counted(u); input {
			used.Input = used.Total - used.Output
		}
	}
	return used
}

// counted reports of which tokens a usage has the number: their own, or what the total has beyond that of the others.
func counted(u *meter.Usage) (input, output bool) {
	in, input := u.Get(meter.InputTokens)
	out, output := u.Get(meter.OutputTokens)
	total, _ := u.Get(meter.TotalTokens)
	return input || out > 0 && total > out, output || total > 0 && total >= in
}

// mostContradictions bounds the models whose contradictions are logged: clients may send any name.
const mostContradictions = 1000

// Contradictions logs the first usage of each model that says more of a kind than of the whole.
type Contradictions struct {
	logger *slog.Logger
	mu     sync.Mutex
	models map[string]bool
}

// NewContradictions returns Contradictions that were not logged yet.
func NewContradictions(logger *slog.Logger) *Contradictions {
	return &Contradictions{logger: logger, models: make(map[string]bool)}
}

// Note logs the request of a contradiction, unless one of its model was logged before.
func (c *Contradictions) Note(id, team, model string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.models[model] || len(c.models) == mostContradictions {
		return
	}
	c.models[model] = true
	c.logger.LogAttrs(context.Background(), slog.LevelWarn,
		"the usage in an answer has more of a kind than of the whole and was cut to the whole; logged once for each model",
		slog.String("id", id), slog.String("team", team), slog.String("model", model))
}
