package simulator

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"sluice/gateway/simulator/answer"
)

// Units of a Spend.
const (
	UnitInputTokens  = "input_tokens"
	UnitOutputTokens = "output_tokens"
	UnitImages       = "images"
)

// Spend is what one model has cost in one unit: the service's own truth, to which a gateway's ledger is compared.
type Spend struct {
	Model  string
	Unit   string
	Amount int64
}

// Tally is what has happened since the start or the last Reset.
type Tally struct {
	// Requests and Executed count arrivals and work done by Endpoint word.
	Requests map[string]int
	Executed map[string]int
	// Spent is ordered by model and unit, without zeros.
	Spent []Spend
	// Tokens (input and output) and Images are the sums over all models.
	Tokens, Images int64
}

// bill sums costs. It is filled when the work is done, whether or not anybody is left to hear the answer.
type bill struct {
	mu    sync.Mutex
	spent map[Spend]int64 // by Spend with Amount zero
}

// maxBilled bounds the lines of a bill; models beyond share the line "other".
const maxBilled = 3000

func (b *bill) add(model string, c answer.Cost) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent == nil {
		b.spent = map[Spend]int64{}
	}
	if len(b.spent) >= maxBilled {
		model = "other"
	}
	for unit, n := range map[string]int64{UnitInputTokens: c.Input, UnitOutputTokens: c.Output, UnitImages: c.Images} {
		if n != 0 {
			b.spent[Spend{Model: model, Unit: unit}] += n
		}
	}
}

func (b *bill) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = nil
}

// tally writes the bill into t.
func (b *bill) tally(t *Tally) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for line, n := range b.spent {
		line.Amount = n
		t.Spent = append(t.Spent, line)
		if line.Unit == UnitImages {
			t.Images += n
		} else {
			t.Tokens += n
		}
	}
	slices.SortFunc(t.Spent, func(a, b Spend) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Unit, b.Unit))
	})
}

func (r *recorder) tally(t *Tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Requests = maps.Clone(r.requests)
	t.Executed = maps.Clone(r.executed)
}
