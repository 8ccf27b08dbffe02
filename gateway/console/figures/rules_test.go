package figures

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/console/access"
	"sluice/telemetry"
	"sluice/telemetry/recent"
)

// breaks notes a request that breaks rules; a refusal is for the first.
func (s *stand) breaks(team, refusal string, ids ...string) {
	s.Helper()
	r := telemetry.Record{Time: s.Now(), Team: team, Status: 200, Refusal: refusal}
	for i, id := range ids {
		r.Broken = append(r.Broken, telemetry.BrokenRule{ID: id, Refused: refusal == refusedByRule && i == 0})
	}
	s.recent.Note(&r, r.AppendLine(nil))
	if err := s.recent.Post(s.Context()); err != nil {
		s.Fatal(err)
	}
}

func TestRulesThatWereBroken(t *testing.T) {
	s := newStand(t, false)
	s.breaks("search", "", "text.stream.header") // too long ago
	s.Move(time.Minute)
	begin := s.Now().Truncate(time.Minute)
	s.breaks("shop", "", "text.stream.header")
	s.Move(24*time.Hour - time.Hour)
	s.breaks("search", refusedByRule, "text.seed", "text.stream.header")
	s.Move(59 * time.Minute)
	s.breaks("search", "admit/rate", "text.stream.header")
	s.breaks("shop", refusedByRule, "text.seed")
	s.breaks("shop", "admit/rate")
	seed, warned := recent.RuleCount{Refused: 1}, recent.RuleCount{Warned: 1}
	for _, tt := range []struct {
		about string
		p     access.Person
		day   bool
		want  Rules
	}{
		{"all, a day", operator, true, Rules{begin, map[string]recent.RuleCount{"text.seed": {Refused: 2}, "text.stream.header": {Warned: 3}},
			2}},
		{"all, an hour", access.Person{Role: access.Viewer}, false,
			Rules{begin.Add(23 * time.Hour), map[string]recent.RuleCount{"text.seed": {Refused: 2}, "text.stream.header": {Warned: 2}}, 2}},
		{"a member", member, true, Rules{begin, map[string]recent.RuleCount{"text.seed": seed, "text.stream.header": {Warned: 2}}, 1}},
		{"a member of another team", access.Person{Role: access.Member, Teams: []string{"shop"}}, true,
			Rules{begin, map[string]recent.RuleCount{"text.seed": seed, "text.stream.header": warned}, 1}},
		{"no rights", access.Person{}, true, Rules{Since: begin}},
	} {
		got, err := s.figures.Rules(t.Context(), tt.p, tt.day)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.about, err, diff)
		}
	}
}
