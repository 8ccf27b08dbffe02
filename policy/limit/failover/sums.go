package failover

import (
	"crypto/rand"

	"sluice/policy"
	"sluice/policy/limit"
)

// mostSums is how many sums are kept separately by tag and key, and twice as many by model: clients can invent them.
const mostSums = 10000

// sumOf names the charges that are added up to one sum.
type sumOf struct {
	team      string
	day       int
	model     string
	endpoint  policy.Endpoint
	account   string
	tag, key  limit.Inner
	estimated bool
}

// sum keeps a charge of a hold that Redis does not know. Such charges are added up until they are sent as one.
func (q *queue) sum(c *limit.Charge) {
	h := *c.Held
	h.ID, h.Amounts, h.Local = "sum-"+rand.Text(), limit.Amounts{}, true
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addUp(&limit.Charge{Held: &h, Team: c.Team, Amounts: c.Amounts, Kinds: c.ByKind(), Estimated: c.Estimated, Sum: true})
}

// addUp adds a charge to what was not sent yet. It may change the charge. The lock is held.
func (q *queue) addUp(c *limit.Charge) {
	h := c.Held
	of := sumOf{h.Team, h.Day, h.Model, h.Endpoint, h.Account, h.Tag, h.Key, c.Estimated}
	if q.sums[of] == nil && len(q.sums) >= mostSums { // all others share one, as in the ledgers of Redis
		of.tag, of.key = of.tag.AsOther(), of.key.AsOther()
	}
	if q.sums[of] == nil && len(q.sums) >= 2*mostSums && of.model != "" {
		of.model = limit.Other
	}
	h.Tag, h.Key, h.Model = of.tag, of.key, of.model
	if s := q.sums[of]; s != nil {
		s.Team, s.Amounts, s.Kinds = c.Team, s.Amounts.Plus(c.Amounts), s.Kinds.Plus(c.Kinds)
		return
	}
	q.sums[of] = c
}
