package failover

import (
	"context"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

// Move moves a hold to another account at the service, as [limit.Memory.Move] does. It makes a call for the new
// account's quotas and one for the rates; the request does not wait for what is given back. Without Redis it spends an
// allowance of the new account's quotas, and this process's share of its rates. An error means that neither is known,
// and that nothing changes.
func (s *Failover) Move(ctx context.Context, from *limit.Held, to *limit.Hold) (limit.Verdict, error) {
	m := limit.MoveOf(from, to)
	if v, never := m.NeverFits(); never {
		return v, nil
	}
	m.To.Uncounted(s.seeds.without)
	var placed *limit.Held
	var waited error // why Redis did not place it
	if m.Place != nil {
		v, failed, err := s.placeMoved(ctx, m)
		if v.Held == nil || err != nil {
			return v, err
		}
		placed, waited = v.Held, failed
	}
	fault, wait, shared, err := s.moveRates(ctx, m, waited)
	if wait > 0 || err != nil {
		if placed != nil {
			s.SettleLater(m.To.Release(placed))
		}
		if err != nil {
			return limit.Verdict{}, err
		}
		return new(limit.Verdict).RefuseOutside(fault, wait, m.To), nil
	}
	moved := m.Done(placed)
	moved.Shared = shared
	for _, h := range append([]*limit.Held{moved}, moved.Outer...) {
		b := s.teams.Get(h.Team)
		if moveHere(b, h); h != placed && b.extend(h.ID, s.Now()) {
			s.queue.add(job{extend: h}) // so that Redis knows its account, and how little it holds
		}
	}
	if !s.Refuse {
		own := *from
		own.Outside = nil // moveRates has changed these
		s.rates.Settle(&limit.Charge{Held: &own, Team: to.Team, Amounts: moved.Amounts})
	}
	if m.Back != nil {
		s.SettleLater(m.To.Release(m.Back))
	}
	return limit.Verdict{Held: moved}, nil
}

// placeMoved places a moving hold in the quotas of its new account. failed is the error of Redis, without which an allowance may be spent.
func (s *Failover) placeMoved(ctx context.Context, m *limit.Move) (v limit.Verdict, failed, err error) {
	t := new(attempt)
	s.begin(t, m.Place)
	s.lend(t)
	if t.Err = s.ready(ctx, t); t.Err == nil {
		t.Err = s.seeded(ctx, t.Hold.Team.ID)
	}
	if t.Err == nil {
		call := timedFrom(ctx, s.Timeout)
		s.Store.PlaceAll(call, []*redisstore.Placement{&t.Placement})
		call.end()
		s.observe(t.Err)
	}
	failed = t.Err
	if v, err = s.answer(ctx, t); v.Held == nil && err == nil {
		v = m.Refused(v)
	}
	return v, failed, err
}

// moveRates takes a moving hold from the rates of its new account, and gives back to those of the old one. shared: it
// used this process's share of them, because Redis is away. If why, the error of an earlier call, says that, it makes none.
func (s *Failover) moveRates(ctx context.Context, m *limit.Move, why error) (fault teams.Rate, wait time.Duration, shared bool, err error) {
	if len(m.To.Rated())+len(m.From.Outside) == 0 {
		return fault, 0, false, nil
	}
	if s.whole(why) {
		fault, wait = s.rates.Move(m)
		return fault, wait, true, nil
	}
	call := timedFrom(ctx, s.Timeout)
	defer call.end()
	if fault, wait, err = redisstore.MoveRated(call, s.Store, m); err == nil {
		if s.observe(nil); wait == 0 && !s.Refuse {
			s.rates.Moved(m)
		}
		return fault, wait, false, nil
	}
	if s.observe(err); s.Refuse {
		return fault, 0, false, err
	}
	fault, wait = s.rates.Move(m)
	return fault, wait, true, nil
}
