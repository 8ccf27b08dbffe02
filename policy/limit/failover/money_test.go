package failover

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

var spends = limit.Amounts{limit.Requests: 1, limit.Spend: 7}

// inOthers is a process that counts in other digits than the harness's, and returns it with what its owner was told.
func (s *harness) inOthers() (other *harness, told *[]error) {
	other, told = s.beside(), new([]error)
	other.Store.Money = unit.Micros
	other.Store.OnOtherMoney = func(err error) { *told = append(*told, err) }
	return other, told
}

// What only looks fixes nothing and lists no team: a process with the wrong digits that has charged nothing may be started again with
// others.
func TestLooksFixNoDigits(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team, ctx := limittest.Team(s, "quotas: {spend: {day: 5}}"), s.Context()
		house := &teams.Team{ID: teams.HouseID, Quotas: team.Quotas}
		for range 2 { // the second time Redis has lost its memory
			for _, of := range []*teams.Team{team, house} {
				if _, err := s.Failover.Look(ctx, of); err != nil {
					s.Fatal(err)
				}
			}
			for range 3 {
				s.clock.Move(sweepEvery + time.Second)
				_ = s.Maintain(ctx) // that Redis lost its memory is worth a log line
			}
			if all, err := s.Store.Accounts(ctx); len(all) > 0 || err != nil {
				s.Errorf("lists %v, %v", all, err)
			}
			if _, known, err := redisstore.CountsIn(ctx, s.client); known || err != nil {
				s.Fatalf("nothing was charged: %v, %v", known, err)
			}
			s.client.FlushDB(ctx)
		}
		other, told := s.inOthers()
		other.must("a", team, spends)
		if m, known, _ := redisstore.CountsIn(ctx, s.client); m != unit.Micros || !known || len(*told) > 0 {
			s.Errorf("the first charge fixes it: %v, %v, %v", m, known, *told)
		}
		if all, _ := s.Store.Accounts(ctx); !slices.Contains(all, team.ID) {
			s.Errorf("lists %v", all)
		}
	})
}

// A process whose digits are not those of Redis learns it by its beat, tells it once, and admits nothing, whatever the team's limits; that
// is no outage. It ends when Redis has its digits.
func TestOtherDigitsAdmitNothing(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team, free, ctx := limittest.Team(s, "quotas: {spend: {day: 5}}"), &teams.Team{ID: "free"}, s.Context()
		other, told := s.inOthers() // before anything was charged
		if err := other.Maintain(ctx); err != nil || other.Store.MoneyFault() != nil {
			s.Fatal(err, other.Store.MoneyFault())
		}
		s.must("a", team, spends)
		for range 3 {
			s.clock.Move(2 * time.Second)
			if err := other.Maintain(ctx); err != nil {
				s.Error(err)
			}
		}
		const want = "currency_digits: got 6, allowed: 9"
		if fault := other.Store.MoneyFault(); !errors.Is(fault, limit.ErrMoney) || !strings.Contains(fault.Error(), want) {
			s.Errorf("the fault: %v", fault)
		}
		refused := func() {
			s.Helper()
			for _, of := range []*teams.Team{team, free} {
				if v, err := other.ask("b", of, spends); v.Held != nil || !errors.Is(err, limit.ErrMoney) {
					s.Errorf("team %s: %+v, %v", of.ID, v, err)
				}
			}
		}
		refused()
		if other.Degraded() || len(*told) != 1 {
			s.Errorf("degraded %v, told %v", other.Degraded(), *told)
		}
		s.fault.mode.Store(away)
		refused()
		s.fault.mode.Store(well)
		s.client.Set(ctx, "sl1:currency_digits", 6, 0)
		if _, err := other.Store.Beat(ctx, time.Time{}, limit.Flight{Bound: 1}); err != nil || other.Store.MoneyFault() != nil {
			s.Errorf("%v, %v", err, other.Store.MoneyFault())
		}
		other.must("b", team, spends)
	})
}

// A process that started while Redis was away, and the first request before its first beat, learn it, too.
func TestOtherDigitsAreFoundByTheFirstRequest(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := limittest.Team(s)
		other, told := s.inOthers()
		s.fault.mode.Store(away)
		if _, err := other.ask("a", limittest.Team(s, "quotas: {spend: {day: 5}}"), spends); err == nil || errors.Is(err, limit.ErrMoney) {
			s.Errorf("it cannot be known: %v", err)
		}
		s.fault.mode.Store(well)
		s.must("a", team, spends)
		if v, err := other.ask("b", team, spends); v.Held != nil || !errors.Is(err, limit.ErrMoney) || len(*told) != 1 || other.Degraded() {
			s.Errorf("%+v, %v, %v, degraded %v", v, err, *told, other.Degraded())
		}
	})
}
