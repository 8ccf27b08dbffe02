package turn_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/gateway/turn"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

const limits = `
account:
  - {models: ["gen2.6-*"], requests: {per: 1s, limit: 5}, images: {per: 1m, limit: 60}}
  - {requests: {per: 1s, limit: 50}, tokens: {per: 1m, limit: 4000}}
teams:
  - id: search
    keys:
      - {id: aaaaaaaaaaaa, sha256: 4745db43272f9dc36e3bbaaa11fffb19e5f3253580fa5b6092bfbdf53ce96439, concurrent: 2, rates: {images: {per: 1m, limit: 8}}}
    rates: {requests: {per: 1s, limit: 9}, tokens: {per: 1m, limit: 900}}
    concurrent: 4
    queue: {depth: 7}
    share: 3
  - {id: tries, shadow: true, concurrent: 1, rates: {requests: {per: 1s, limit: 9}}}
`

// holdOf is a hold of a team for this model.
func holdOf(t *testing.T, team, model string, amounts limit.Amounts) (*limit.Hold, *teams.KeyLimits) {
	t.Helper()
	file, err := teams.Parse([]byte(limits))
	if err != nil {
		t.Fatal(err)
	}
	h := &limit.Hold{Team: file.Team(team), Key: "aaaaaaaaaaaa", Model: model, Amounts: amounts, Outside: limit.OutsideFor(file, model)}
	if key := h.Team.Key(h.Key); key != nil {
		return h, &key.KeyLimits
	}
	return h, &teams.KeyLimits{}
}

// requestOf is the request of a hold where there is one account.
func requestOf(h *limit.Hold, key *teams.KeyLimits) *turn.Request {
	r := turn.RequestOf(h, key, time.Second)
	r.Serve("main", h)
	return r
}

// What a request needs are the limits that it is charged in, the narrowest first; a team in shadow mode needs only the account.
func TestWhatARequestNeeds(t *testing.T) {
	for _, tt := range []struct {
		team, model string
		amounts     limit.Amounts
		want        string
	}{
		{
			"search", "gen2.6-image", limit.Amounts{limit.Requests: 1, limit.Images: 4},
			"key aaaaaaaaaaaa slots 1, team search slots 1, key aaaaaaaaaaaa images 4, team search requests 1, account gen2.6-* requests 1, " +
				"account gen2.6-* images 4, account  requests 1, account main gen2.6-image  1",
		},
		{
			"search", "llm-max", limit.Amounts{limit.Requests: 1, limit.Tokens: 3000},
			"key aaaaaaaaaaaa slots 1, team search slots 1, team search requests 1, team search tokens 3000, account  requests 1, account  " +
				"tokens 1000, account main llm-max  1",
		},
		{"tries", "llm-max", limit.Amounts{limit.Requests: 1}, "account  requests 1, account main llm-max  1"},
	} {
		h, key := holdOf(t, tt.team, tt.model, tt.amounts)
		r := requestOf(h, key)
		var all []string
		for _, n := range slices.Concat(r.Needs, r.Ways[0].Needs) {
			all = append(all, strings.Join([]string{n.Scope.String(), n.Name, string(n.Unit), strconv.FormatFloat(n.Cost, 'f', -1, 64)}, " "))
		}
		if got := strings.Join(all, ", "); got != tt.want {
			t.Errorf("%s, %s:\n%s, want\n%s", tt.team, tt.model, got, tt.want)
		}
		if tt.team == "search" && (r.Depth != 7 || r.Share != 3) || tt.team == "tries" && (r.Depth != 100 || r.Share != 1) {
			t.Errorf("%s: depth %d, share %v", tt.team, r.Depth, r.Share)
		}
	}
}

// A refusal by a rate is waited for at one of the things that the request needs, also where replicas divide the rate; others are not.
func TestWhatIsWaitedFor(t *testing.T) {
	h, key := holdOf(t, "search", "gen2.6-image", limit.Amounts{limit.Requests: 1, limit.Images: 4})
	for _, tt := range []struct {
		reason limit.Reason
		fault  limit.Standing
		wait   time.Duration
		want   turn.Resource
		rate   float64
	}{
		{limit.ReasonRate, limit.Standing{Unit: "requests", Limit: 9, Window: time.Second}, time.Second,
			turn.Resource{Scope: limit.ScopeTeam, Name: "search", Unit: "requests"}, 9},
		{limit.ReasonRate, limit.Standing{Unit: "images", Scope: limit.ScopeKey, Limit: 8, Window: time.Minute}, time.Second,
			turn.Resource{Scope: limit.ScopeKey, Name: h.Key, Unit: "images"}, 8.0 / 60},
		{limit.ReasonAccount, limit.Standing{Unit: "images", Scope: limit.ScopeAccount, Per: "1m", Limit: 60, Window: 3 * time.Minute},
			time.Second, turn.Resource{Scope: limit.ScopeAccount, Name: "gen2.6-*", Unit: "images"}, 60.0 / 180},
		{limit.ReasonAccount, limit.Standing{Unit: "requests", Scope: limit.ScopeAccount, Per: "1s", Limit: 50, Window: time.Second},
			time.Second, turn.Resource{Scope: limit.ScopeAccount, Unit: "requests"}, 50},
		{limit.ReasonAccount, limit.Standing{Scope: limit.ScopeAccount}, time.Second, turn.Account("main", "gen2.6-image"), 0},
		{limit.ReasonAccount, limit.Standing{Scope: limit.ScopeAccount}, 0, turn.Resource{}, 0},
		{limit.ReasonAccount, limit.Standing{Unit: "requests", Scope: limit.ScopeAccount, Period: teams.PeriodDay}, time.Second, turn.Resource{},
			0},
		{limit.ReasonQuota, limit.Standing{Unit: "requests"}, time.Second, turn.Resource{}, 0},
		{limit.ReasonTasks, limit.Standing{}, time.Second, turn.Resource{}, 0},
		{limit.ReasonHouse, limit.Standing{Scope: limit.ScopeHouse}, time.Second, turn.Resource{}, 0},
		{limit.ReasonNever, limit.Standing{}, 0, turn.Resource{}, 0},
	} {
		got := turn.RefusalOf(&limit.Verdict{Reason: tt.reason, Fault: tt.fault, Wait: tt.wait}, h)
		switch {
		case got == nil:
			if tt.want != (turn.Resource{}) {
				t.Errorf("%s %+v is not waited for", tt.reason, tt.fault)
			}
		case got.Resource != tt.want || got.Wait != tt.wait || got.Rate != tt.rate:
			t.Errorf("%s %+v: %+v", tt.reason, tt.fault, got)
		case !slices.ContainsFunc(slices.Concat(requestOf(h, key).Needs, requestOf(h, key).Ways[0].Needs),
			func(n turn.Need) bool { return n.Resource == got.Resource }):
			t.Errorf("the request does not need %+v", got.Resource)
		}
	}
}
