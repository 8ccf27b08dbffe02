package limit

import (
	"testing"

	"sluice/policy/teams"
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
		if v, never := move.NeverFits(); never || move.To.Text != 150 || move.Place.Amounts[Spend] != 50 {
			t.Errorf("%s: %+v, %d for the text, placed are %v", about, v, move.To.Text, move.Place.Amounts)
		}
		to.Outside = []Scope{quota("b", 49)}
		if v, never := MoveOf(from, &to).NeverFits(); !never || v.Asked != 50 {
			t.Errorf("%s: %+v", about, v)
		}
	}
}
