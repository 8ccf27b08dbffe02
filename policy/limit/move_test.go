package limit

import (
	"testing"
	"time"

	"sluice/policy/teams"
	"sluice/policy/unit"
)

// The price of the images stays exact through the cuts of the estimate beside them: of a request as it was asked for, and of one that was
// admitted.
func TestAMoveKeepsThePriceOfImages(t *testing.T) {
	quota := func(id string, most int64) Scope {
		s := Scope{Kind: ScopeAccount, Name: id, Document: &teams.Team{ID: teams.AccountQuotasID(id)}}
		for q := range s.Quotas {
			s.Quotas[q] = None
		}
		s.Quotas[2*Spend] = most
		return s
	}
	asked := Hold{ID: "h", Account: "a", Team: &teams.Team{ID: "search"}, Amounts: Amounts{1, 900, 1, 1000}, Text: 950,
		Outside: []Scope{quota("a", 800)}}
	placed := asked.OnAccount()
	if placed.Amounts != (Amounts{1, 900, 1, 200}) || placed.Text != 150 {
		t.Fatalf("placed are %v with %d for the text", placed.Amounts, placed.Text)
	}
	from := &Held{ID: placed.ID, Team: "search", Account: "a", Amounts: placed.Amounts}
	for about, to := range map[string]Hold{"as it was asked for": asked, "as it was admitted": *placed} {
		to.Account, to.Outside = "b", []Scope{quota("b", 120)}
		move := MoveOf(from, &to)
		if v, never := move.NeverFits(); never || move.To.Text != 0 || move.To.Amounts != move.Place.Amounts || move.Place.Amounts[Spend] != 50 {
			t.Errorf("%s: %+v, %d for the text, placed are %v", about, v, move.To.Text, move.Place.Amounts)
		}
		to.Outside = []Scope{quota("b", 49)}
		if v, never := MoveOf(from, &to).NeverFits(); !never || v.Asked != 50 {
			t.Errorf("%s: %+v", about, v)
		}
	}
}

// What a request holds of an estimate on its new account, its team and the house hold, too; they give back the rest, and to rates.
func TestAMoveGivesBackWhatTheNewAccountDoesNotHold(t *testing.T) {
	file, err := teams.Parse([]byte("house: {quotas: {tokens: {day: 400}}}\nteams:\n  - id: search\n    quotas: {tokens: {day: 100}}\n" +
		"    rates: {tokens: {per: 1h, limit: 1000}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	account := func(id string, most int64) *teams.Account {
		return &teams.Account{ID: id, Quotas: &teams.Team{ID: teams.AccountQuotasID(id), Quotas: []teams.Quota{
			{Unit: unit.NameTokens, Period: teams.PeriodDay, Limit: most}}}}
	}
	var outsides Outsides
	m, ctx := NewMemory(time.Now), t.Context()
	h := Hold{ID: "h", Team: file.List[0], Account: "a", Outside: outsides.For(file, account("a", 80), "m"), Model: "m", Lease: time.Hour,
		Amounts: Amounts{Requests: 1, Tokens: 20}}
	v, err := m.Admit(ctx, &h)
	if err != nil || v.Held == nil {
		t.Fatal(v, err)
	}
	to := h
	b := account("b", 8)
	to.Account, to.Outside = "b", outsides.For(file, b, "m")
	if v, err = m.Move(ctx, v.Held, &to); err != nil || v.Held == nil || v.Held.Amounts[Tokens] != 2 {
		t.Fatal(v, err)
	}
	for _, of := range []*teams.Team{file.List[0], file.House.Account, b.Quotas} {
		r, err := m.Look(ctx, of)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Limits {
			if s.Period != "" && s.Held != 2 || s.Period == "" && s.Left != 998 {
				t.Errorf("%s: %s holds %d, %d are left; want 2, or 998 left", of.ID, s.Name(), s.Held, s.Left)
			}
		}
	}
}
