package redisstore

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// wiredTerms are a team's limits, with those of one of its keys if it has some, as the scripts take them. They are made once for each
// reading of the teams file.
type wiredTerms struct {
	of    *teams.Team
	terms limit.Terms
	args  json.RawMessage                       // termsArgs of the team
	rates []wiredRate                           // of all scopes, the narrowest first
	plans [1 << unit.Count]atomic.Pointer[plan] // by the units that a request is charged in
	keys  map[string]*wiredTerms                // with the limits of a key, by its id
}

// wiredRate is a rate of one scope of the team's own accounts.
type wiredRate struct {
	rateArgs
	kind limit.ScopeKind
	rate teams.Rate
	key  any   // of its bucket, converted once
	args []any // as batch.lua takes it
}

// termsArgs are a team's limits in the arguments of scripts.
type termsArgs struct {
	Rates  []rateArgs              `json:"rates"`
	Quotas [limit.QuotaCount]int64 `json:"quotas"`
	Base   []int64                 `json:"base,omitempty"` // of a team with raises: the quotas without them
	Tasks  int64                   `json:"tasks"`
}

// rateArgs is a rate: its unit from 1, its text, its period in µs, and for how many ms its bucket is kept, which is longer than two
// refills.
type rateArgs struct {
	Unit  int    `json:"unit"`
	Bit   int    `json:"bit"` // in a set of rates, from 1
	Text  string `json:"text"`
	Limit int64  `json:"limit"`
	Per   int64  `json:"per"`
	Burst int64  `json:"burst"`
	Keep  int64  `json:"keep"`
	Of    string `json:"of,omitzero"` // suffix of the bucket's key, for a scope inside the team
	N     int64  `json:"n,omitzero"`  // for allowance.lua: what is taken
}

func rateArgsOf(r teams.Rate) rateArgs {
	per := r.Per.Microseconds()
	text := " " + strconv.FormatInt(r.Limit, 10) + " " + strconv.FormatInt(per, 10) + " " + strconv.FormatInt(r.Burst, 10)
	refill := math.Ceil(float64(r.Burst) * float64(r.Per.Milliseconds()) / float64(r.Limit))
	at := unit.Index(r.Unit) + 1
	return rateArgs{Unit: at, Bit: at, Text: text, Limit: r.Limit, Per: per, Burst: r.Burst, Keep: int64(2*refill) + 60_000}
}

// wired returns the limits of a team, and of one of its keys, for the scripts.
func (k *teamKeys) wired(team *teams.Team, key string) *wiredTerms {
	w := k.terms.Load()
	if w == nil || w.of != team {
		w = newWired(k, team, limit.TermsOf(team))
		args := termsArgs{Rates: w.ratesOf(false), Quotas: w.terms.Quotas, Tasks: w.terms.Tasks}
		if team != nil && team.Base != nil {
			base := limit.ScopeOf(limit.ScopeTeam, "", nil, team.Base)
			args.Base = base.Quotas[:]
		}
		w.args, _ = json.Marshal(args) // numbers and texts
		if team != nil {
			w.keys = map[string]*wiredTerms{}
			for _, of := range team.CountedKeys() {
				w.keys[of.ID] = newWired(k, team, limit.TermsFor(team, of.ID))
			}
		}
		k.terms.Store(w)
	}
	if own := w.keys[key]; own != nil {
		return own
	}
	return w
}

func newWired(k *teamKeys, team *teams.Team, t limit.Terms) *wiredTerms {
	w := &wiredTerms{of: team, terms: t}
	for kind := limit.ScopeKind(limit.TeamScopes) - 1; kind >= limit.ScopeTeam; kind-- {
		scope := t.Of(kind)
		for i, r := range scope.Rates {
			if r.Limit == 0 {
				continue
			}
			a := rateArgsOf(r)
			a.Bit, a.Of = limit.RateCount*int(kind)+i+1, rateIn(kind, scope.Name)
			w.rates = append(w.rates, wiredRate{a, kind, r, k.rate(i, a.Of), []any{a.Text, a.Limit, a.Per, a.Burst, a.Keep}})
		}
	}
	return w
}

// ratesOf lists the rates of the scopes inside the team, or those of the team.
func (w *wiredTerms) ratesOf(inside bool) []rateArgs {
	list := []rateArgs{}
	for i := range w.rates {
		if inside == (w.rates[i].kind != limit.ScopeTeam) {
			list = append(list, w.rates[i].rateArgs)
		}
	}
	return list
}

// knownArgs is the version of the accounts that the caller of a script knows.
type knownArgs struct {
	Epoch int64 `json:"epoch"`
	Seq   int64 `json:"seq"`
}

func (v version) args() knownArgs { return knownArgs{v.epoch, v.seq} }

// holdArgs is a hold in the arguments of scripts.
type holdArgs struct {
	ID    string `json:"id"`
	Lease int64  `json:"lease"` // µs
	Due   int64  `json:"due"`   // when its lease ends
	Text  string `json:"text"`
}

// asideArgs is an allowance in the arguments of scripts.
type asideArgs struct {
	Day  string      `json:"day"`
	Keep limit.Stock `json:"keep"`
	Want limit.Stock `json:"want"`
}

// How values are written for the scripts.

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// appendNumbers writes amounts for the scripts.
func appendNumbers(b []byte, list []int64) []byte {
	for i, n := range list {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return b
}

// uncharged is what an open hold was charged, between blanks.
var uncharged = strings.Repeat(" 0", unit.Count) + " "

// appendHold adds the part of a hold's text after its month: what it holds and was charged, id, team with the account unless that is
// main, and with the key if it has one, model and endpoint.
func appendHold(b []byte, h *limit.Held) []byte {
	b = appendNumbers(append(b, ' '), h.Amounts[:])
	b = append(append(b, uncharged...), h.ID...)
	b = append(append(append(b, ' '), h.Team...), limit.AccountMark(h.Account)...)
	if h.Key != "" {
		b = append(append(b, '/'), h.Key...)
	}
	b = append(append(b, ' '), h.Model...)
	b = append(append(b, '|'), h.Endpoint...)
	if h.Tag != "" {
		b = append(append(b, '#'), h.Tag...)
	}
	return b
}

// heldText is the text of an open hold that was taken from these rates.
func heldText(h *limit.Held, rates limit.RateSet) string {
	return string(appendHeldText(make([]byte, 0, 192), h, rates))
}

func appendHeldText(b []byte, h *limit.Held, rates limit.RateSet) []byte {
	b = append(b, "held 0 "...)
	b = strconv.AppendInt(b, int64(flag(h.Task)), 10)
	for _, n := range [...]int{int(rates), h.Day, h.Month} {
		b = strconv.AppendInt(append(b, ' '), int64(n), 10)
	}
	return appendHold(b, h)
}
