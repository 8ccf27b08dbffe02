package limit

import (
	"strings"
	"time"

	"sluice/policy"
	"sluice/policy/event"
	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Amounts is an amount of each unit, in the order of the table of units.
type Amounts = unit.Amounts

// The units as indices of Amounts.
const (
	Requests = unit.Requests
	Tokens   = unit.Tokens
	Images   = unit.Images
	Spend    = unit.Spend
)

// Hold is the amount that a request reserves until its cost is known.
type Hold struct {
	ID       string          // unique; admitting it again on the same account changes nothing, even after the hold was given back
	Team     *teams.Team     // its rates, quotas, open_tasks and shadow count as they are now
	Outside  []Scope         // the scopes outside of the team that it is charged in, from [Outsides.For]; nil: none
	Account  string          // the id of the account at the service that does the work; empty: main
	Model    string          // for the ledger
	Endpoint policy.Endpoint // for the ledger
	Tag      string          // the value of the team's tag_key; empty: none
	Key      string          // the id of the team's key, or jwt: and the subject of a token; without spaces; empty: none
	Amounts  Amounts         // what the request may cost, exact or estimated
	Text     int64           // of the money in Amounts, what the estimate of a text adds to the price of the images
	Task     bool            // the request creates a task, which is open until the hold is settled or expires
	Lease    time.Duration   // the hold expires after it, unless it was settled or extended
}

// Held is an admitted hold: all that is needed to settle it, here or on another replica.
type Held struct {
	ID       string
	Team     string
	Account  string // that does the work, and under which it is charged in the ledger; empty: main
	Model    string
	Endpoint policy.Endpoint
	Tag      Inner // for the ledger of tags; empty: none
	Key      Inner // for the ledger of keys; empty: none
	Amounts  Amounts
	Day      int // yyyymmdd and yyyymm of the admission, in UTC; the cost belongs to them
	Month    int
	Task     bool
	Outside  []Scope     // the scopes outside of the team whose rates it was taken from; nil: none
	Document *teams.Team // of its account, if that is outside of the teams; nil: the account is a team's
	Outer    []*Held     // the request's holds in accounts outside of the team, which are settled with it; nil: none
	Rates    RateSet     // the rates that it was taken from; none if another process admitted it
	Local    bool        // admitted without Redis: nothing was taken from the rates there
	Shared   bool        // it was taken from Outside by the share of this process, not in Redis
}

// HeldOf is the hold as it is admitted on a date, without the rates that it is taken from. t are the terms of its team and key.
func HeldOf(h *Hold, t *Terms, date *Calendar) *Held {
	held := new(Held)
	heldOf(held, h, t, date)
	return held
}

// heldOf is HeldOf into a zero Held of the caller's.
func heldOf(to *Held, h *Hold, t *Terms, date *Calendar) {
	to.ID, to.Team, to.Account, to.Model, to.Endpoint = h.ID, h.Team.ID, accountOf(h.Account), h.Model, h.Endpoint
	to.Tag, to.Key, to.Amounts, to.Task = h.Inner(ScopeTag), Inner(h.Key), h.Amounts, h.Task
	if key := t.Of(ScopeKey); key.Name == h.Key {
		to.Key = key.counted
	}
	to.Day, to.Month = date.Day, date.Month
	if teams.IsOutside(h.Team.ID) {
		to.Document = h.Team
	}
}

// exact is how much of a unit the request is certain to ask for: images, and their price.
func (h *Hold) exact(u int) int64 {
	switch {
	case unit.Table[u].AtOnce > 0:
		return h.Amounts[u]
	case u == Spend && h.Amounts.Make():
		return h.Amounts[u] - h.Text
	}
	return 0
}

// nameIn is the name of the hold's scope of a kind.
func (h *Hold) nameIn(k ScopeKind) string {
	switch k {
	case ScopeTag:
		return h.Tag
	case ScopeKey:
		return h.Key
	case ScopeAccount:
		return h.Account
	}
	return ""
}

// Inner is the hold's scope of a kind inside the team.
func (h *Hold) Inner(k ScopeKind) Inner {
	if k == ScopeKey {
		key := h.Team.Key(h.Key)
		return InnerOf(h.Key, key != nil && len(key.Quotas) > 0)
	}
	return InnerOf(h.nameIn(k), k == ScopeTag && len(h.Team.TagQuotas) > 0)
}

// LimitedInside reports whether limits inside a team apply to its requests with a key: limits of the key, or of each value of the
// team's tag.
func LimitedInside(t *teams.Team, key string) bool {
	k := t.Key(key)
	return len(t.TagQuotas) > 0 || k != nil && len(k.Rates)+len(k.Quotas) > 0
}

// Inner is the hold's scope of a kind inside the team; empty: none.
func (h *Held) Inner(k ScopeKind) Inner {
	switch k {
	case ScopeTag:
		return h.Tag
	case ScopeKey:
		return h.Key
	}
	return ""
}

// in returns the name of the hold's scope of a kind, and whether the hold is charged in that scope.
func (h *Held) in(k ScopeKind) (name string, charged bool) {
	return h.Inner(k).Name(), k == ScopeTeam || h.Inner(k) != ""
}

// What returns model|endpoint, followed by # and the tag if the hold has one.
func (h *Held) What() string {
	if h.Tag == "" {
		return LedgerName(h.Model, h.Endpoint, "")
	}
	return LedgerName(h.Model, h.Endpoint, "") + "#" + string(h.Tag)
}

// LedgerName is the name of an entry in the ledger: model|endpoint, or model|endpoint@account if the account is not main. Model names
// may contain these characters; endpoints and accounts do not.
func LedgerName(model string, endpoint policy.Endpoint, account string) string {
	return model + "|" + string(endpoint) + AccountMark(account)
}

// RequestOf returns the id of the request that has the hold with this id.
func RequestOf(id string) string {
	request, _, _ := strings.Cut(id, "@")
	return request
}

// Charge settles a hold.
type Charge struct {
	Held      *Held
	Team      *teams.Team  // its current rates are corrected; nil: the team was removed
	Amounts   Amounts      // what the request used
	Bill      *price.Bill  // what it used by kind, whose total is the spend in Amounts; nil: unknown
	Kinds     price.ByKind // of charges that were added up, in addition to Bill
	Estimated bool         // Amounts is an estimate
	Sum       bool         // a sum of charges whose rates were already corrected in this process
	Event     *event.Draft // written with the charge if this settles the hold; nil: none
	// Taken is called once, when the charge has been made, now or at a later attempt. first reports whether this charge settled
	// the hold; if a reply was lost that is a guess. Nil: nothing is called.
	Taken func(first bool)
	// Left is called if the charge is given up because too many were kept: the hold expires when its lease ends. It MUST NOT
	// block. Nil: nothing is called.
	Left func()
}

// ByID reports whether the charge must be made by its hold's id, never in a sum of charges: another replica may see the end of the
// hold, or the charge has an event.
func (c *Charge) ByID() bool { return c.Held.Task || c.Event != nil }

// AddKinds adds what the charge used by kind to a sum.
func (c *Charge) AddKinds(to *price.Sum) {
	if c.Bill != nil {
		to.AddBill(c.Bill)
	}
	to.Add(c.Kinds)
}

// ByKind is what the charge used by kind; empty: unknown.
func (c *Charge) ByKind() price.ByKind {
	var s price.Sum
	c.AddKinds(&s)
	return s.ByKind()
}

// Join makes this charge, which settles the hold, also call the functions of another charge of the same hold.
func (c *Charge) Join(other *Charge) {
	if other == c {
		return
	}
	if c.Event == nil {
		c.Event = other.Event
	}
	if mine := c.Taken; other.Taken != nil {
		c.Taken = func(first bool) {
			if mine != nil {
				mine(first)
			}
			other.CallTaken(false)
		}
	}
	if mine := c.Left; other.Left != nil {
		c.Left = func() {
			if mine != nil {
				mine()
			}
			other.Left()
		}
	}
}

// CallTaken calls Taken, the first time. The charge may still be sent again.
func (c *Charge) CallTaken(first bool) {
	if taken := c.Taken; taken != nil {
		c.Taken = nil
		taken(first)
	}
}
