package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"sluice/cache"
	"sluice/gateway/tasks"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// dayOf is a day in UTC as prices and the ledger number it.
func dayOf(t time.Time) int {
	year, month, day := t.UTC().Date()
	return year*10_000 + int(month)*100 + day
}

// priceOf finds the price of the request's model on a day.
func (s *requestState) priceOf(day int) {
	if day != s.priced {
		s.price, s.priced = s.teams.Prices.For(s.Model, day), day
	}
}

// keepPrice notes in a task's claim what its pictures will cost, whatever the prices are at its end.
func (s *requestState) keepPrice(hold *cache.Hold) {
	if s.price == nil {
		return
	}
	hold.Whole, _ = json.Marshal(s.price) // names and numbers always encode
	one, _ := price.Of(s.price, &price.Usage{Images: 1, Pixels: policy.Pixels(s.pictures), Size: s.pictures})
	hold.Price = one.Total()
}

// outcome fills in what an admitted request is charged, and returns how that was determined.
func (s *requestState) outcome(c *limit.Charge) (flag string) {
	read := &s.reading
	failed := s.UpstreamStatus >= 400 || read.Failed && !read.Content
	switch {
	case !s.exchange.Reached:
		return telemetry.FlagNotSent
	case s.claimed && !(read.Frames > 0 && (s.tellsAll() || s.taskFailed())):
		return telemetry.FlagTask
	case s.UpstreamStatus == 0, s.creates && s.doubtful():
		return telemetry.FlagUnknown
	case failed && !s.claimed:
		s.chargeFor(c, s.used())
		return telemetry.FlagRefused
	case s.route.prefix && (!s.creates || s.claimed || s.exchange.Whole && !s.unclaimable):
		c.Amounts = limit.Amounts{limit.Requests: 1}
		return telemetry.FlagExact
	case s.creates && !s.claimed && (s.route.prefix || !s.tellsAll()):
		return telemetry.FlagUnknown // a task with an unknown id may run
	case s.claimed && s.taskFailed():
		s.chargeFor(c, s.used())
		return telemetry.FlagExact // what was counted before it failed
	}
	return s.measured(c)
}

// measured is outcome for an answer of which at least a part arrived.
func (s *requestState) measured(c *limit.Charge) (flag string) {
	read := &s.reading
	complete := s.complete()
	_, tokens := read.Usage.Tokens()
	count, images := read.Images()
	pictures := s.size[limit.Images] > 0 && !s.guessed
	images = images && (pictures || count > 0) // no images in a text answer is not a usage
	switch known := tokens || images; {
	case known && complete:
		s.chargeFor(c, s.used())
		return telemetry.FlagExact
	case !complete && !known && read.Frames == 0:
		return telemetry.FlagUnknown // cut before any content
	case pictures && !images && complete: // the images were not counted: as many as were held
		s.chargeFor(c, price.Usage{Images: s.size[limit.Images], Pixels: policy.Pixels(s.pictures), Size: s.pictures})
	case pictures:
		s.chargeFor(c, s.used())
	default:
		s.guess(c)
	}
	return telemetry.FlagEstimated
}

// guess charges a text whose end was not seen: what was seen, or an estimate from the bytes, but no more of that than was held. If it was
// cut down to that, its kinds are not known.
func (s *requestState) guess(c *limit.Charge) {
	used := s.used()
	s.chargeFor(c, used)
	seen := *c
	if _, known := s.reading.Usage.Get(meter.InputTokens); !known {
		used.Input = s.inputTokens
	}
	used.Output = max(used.Output, int64(s.reading.TextBytes)/4, 1)
	s.chargeFor(c, used)
	guessed := c.Amounts
	for i := range c.Amounts {
		c.Amounts[i] = max(seen.Amounts[i], min(guessed[i], s.size[i]))
	}
	switch c.Amounts {
	case guessed:
	case seen.Amounts:
		c.Bill = seen.Bill
	default:
		c.Bill = price.Bill{}
	}
}

// used is the usage that the answer says; without one it is a request and nothing else.
func (s *requestState) used() price.Usage {
	kind := s.paidAs()
	return tasks.UsageOf(&s.reading, kind == policy.KindText || kind == policy.KindChat, s.pictures)
}

// chargeFor charges for a usage.
func (s *requestState) chargeFor(c *limit.Charge, used price.Usage) {
	var contradicts bool
	c.Bill, contradicts = price.Of(s.price, &used)
	c.Amounts = limit.AmountsOf(&c.Bill)
	s.contradicts = s.contradicts || contradicts
}

// paidAs is the kind by which a request is charged. If the kind was a guess, it is a chat: its tokens are charged, and the images
// that the answer counts.
func (s *requestState) paidAs() policy.Kind {
	if s.guessed {
		return policy.KindChat
	}
	return policy.Kind(s.Kind)
}

// unpriced reports whether a request is charged whose model has no price, although others have.
func (s *requestState) unpriced() bool {
	return s.price == nil && s.route.endpoint != policy.EndpointOther && len(s.teams.Prices) > 0 && s.mayHaveRun()
}

// mostContradictions bounds the models whose contradictions are logged: clients may send any name.
const mostContradictions = 1000

// contradictions logs the first usage of each model whose parts exceed their whole.
type contradictions struct {
	logger *slog.Logger
	mu     sync.Mutex
	models map[string]bool
}

func newContradictions(logger *slog.Logger) *contradictions {
	return &contradictions{logger: logger, models: make(map[string]bool)}
}

func (c *contradictions) note(s *requestState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.models[s.Model] || len(c.models) == mostContradictions {
		return
	}
	c.models[s.Model] = true
	c.logger.LogAttrs(context.Background(), slog.LevelWarn, "a usage says more of a kind than of the whole; the kinds are cut to the whole, and it is not logged again for the model",
		slog.String("id", s.ID), slog.String("team", s.Team), slog.String("model", s.Model))
}
