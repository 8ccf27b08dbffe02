package limit

import (
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
	"testing"
	"time"
)

// An admission returns the request's own copy of its hold: later writes to it do not change the accounts.
func TestAccountsKeepTheirOwnHold(t *testing.T) {
	m := NewMemory(limittest.NewClock().Now)
	h := Hold{ID: "a", Team: limittest.Team(t, "rates: {images: {per: 1m, limit: 6}}"), Amounts: Amounts{Images: 1}}
	h.Outside = OutsideFor(&teams.File{Account: []teams.AccountLimit{
		{Rates: []teams.Rate{{Unit: unit.NameImages, Per: time.Second, PerText: "1s", Limit: 5, Burst: 5}}}}}, "m")
	v, err := m.Admit(t.Context(), &h)
	if err != nil || v.Held == nil || len(v.Held.Outside) != 1 {
		t.Fatalf("%+v %v", v, err)
	}
	if own := m.teams.Get("search").holds["a"]; own.Outside != nil {
		t.Errorf("the accounts' own hold says %+v", own.Outside)
	}
}
