package failover

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

const paperDoc = `
house: {quotas: {images: {day: 10}}}
teams:
  - {id: search, quotas: {images: {day: 7}}}
  - {id: shop, quotas: {images: {day: 100}}}
`

// paper keeps the pictures of a day that a team, an account at the service and the house used and hold, as one would by hand.
type paper struct {
	most       map[string]int64
	used, held map[string]int64 // by day and account
	open       []*paperHold
}

type paperHold struct {
	*limit.Held
	images int64
	parts  []*paperPart // the team's first
	moved  bool
}

// paperPart is a hold in one account.
type paperPart struct {
	account         string
	state           string // held, expired, settled
	due             time.Time
	images, charged int64
	day             int
}

// in are the accounts that a hold of a team on an account at the service is in, the narrowest first.
func (p *paper) in(team, account string) []string {
	return []string{team, teams.AccountQuotasID(account), teams.HouseID}
}

func of(day int, account string) string { return fmt.Sprintf("%d %s", day, account) }

// refuses names the account that refuses pictures with the longest wait; empty: they fit.
func (p *paper) refuses(accounts []string, n int64, now time.Time) (who string, wait time.Duration) {
	day := limit.CalendarOf(now)
	for _, id := range accounts {
		used, held := p.used[of(day.Day, id)], p.held[of(day.Day, id)]
		w := 5 * time.Second // a hold may end
		if used+n > p.most[id] {
			w = day.End[0].Sub(now)
		}
		if used+held+n > p.most[id] && w > wait {
			who, wait = id, w
		}
	}
	return who, wait
}

// hold holds pictures in an account.
func (p *paper) hold(account string, images int64, due time.Time, day int) *paperPart {
	p.held[of(day, account)] += images
	return &paperPart{account: account, state: "held", due: due, images: images, day: day}
}

// charge charges a hold in one account.
func (p *paper) charge(h *paperPart, images int64, state string) {
	if h.state == "held" {
		p.held[of(h.day, h.account)] -= h.images
	}
	p.used[of(h.day, h.account)] += images - h.charged
	h.charged, h.state = images, state
}

// expire charges the holds whose leases have ended as held.
func (p *paper) expire(now time.Time) {
	for _, h := range p.open {
		for _, part := range h.parts {
			if part.state == "held" && !part.due.After(now) {
				p.charge(part, part.images, "expired")
			}
		}
	}
}

// scopes is a history of requests in accounts of one form, beside paper.
type scopes struct {
	*branches
	paper
	*rapid.T
	at map[string]*teams.Account
}

func (s *scopes) admit() {
	team, account := rapid.SampledFrom([]string{"search", "shop"}).Draw(s.T, "team"),
		rapid.SampledFrom([]string{"eu", "us"}).Draw(s.T, "account")
	images, lease := rapid.Int64Range(1, 3).Draw(s.T, "images"), time.Duration(rapid.IntRange(1, 90).Draw(s.T, "lease"))*time.Minute
	h := s.on(s.at[account], team, images)
	h.Lease = lease
	now := s.clock.Now()
	who, wait := s.refuses(s.in(team, account), images, now)
	v := s.try(h)
	switch scope := map[string]limit.ScopeKind{teams.HouseID: limit.ScopeHouse, teams.AccountQuotasID(account): limit.ScopeAccount}[who]; {
	case (v.Held == nil) != (who != ""):
		s.T.Fatalf("%d images of %s on %s: admitted %t, by hand %q refuses: %+v", images, team, account, v.Held != nil, who, v)
	case who != "":
		if v.Fault.Scope != scope || v.Wait != wait {
			s.T.Fatalf("refused by %v for %v, by hand by %s for %v", v.Fault.Scope, v.Wait, who, wait)
		}
		return
	}
	held := &paperHold{Held: v.Held, images: images}
	for _, id := range s.in(team, account) {
		held.parts = append(held.parts, s.paper.hold(id, images, now.Add(lease), v.Held.Day))
	}
	s.open = append(s.open, held)
}

func (s *scopes) settle(h *paperHold) {
	images := rapid.Int64Range(0, 4).Draw(s.T, "used")
	c := &limit.Charge{Held: h.Held, Team: s.Team(h.Team), Amounts: limit.Amounts{limit.Requests: 1, limit.Images: images}}
	done, err := s.Settle(context.Background(), c)
	if first := h.parts[0].state != "settled"; err != nil || done != first {
		s.T.Fatalf("settled %t, %v, by hand %t", done, err, first)
	}
	for _, part := range h.parts {
		if part.state != "settled" {
			s.paper.charge(part, images, "settled")
		}
	}
}

func (s *scopes) extend(h *paperHold) {
	lease := time.Duration(rapid.IntRange(1, 90).Draw(s.T, "longer")) * time.Minute
	_ = s.Extend(context.Background(), h.Held, lease)
	s.wait()
	for _, part := range h.parts {
		if due := s.clock.Now().Add(lease); part.state == "held" && due.After(part.due) {
			part.due = due
		}
	}
}

// changeAccount moves a hold to the other account at the service, where it was not before.
func (s *scopes) changeAccount(h *paperHold) {
	to := map[string]string{"eu": "us", "us": "eu"}[h.Account]
	if h.parts[0].state != "held" || h.moved || h.Day != limit.CalendarOf(s.clock.Now()).Day { // on another day it would be in two
		return
	}
	who, _ := s.refuses([]string{teams.AccountQuotasID(to)}, h.images, s.clock.Now())
	v := s.move(h.Held, s.at[to])
	if (v.Held == nil) != (who != "") {
		s.T.Fatalf("moved %t, by hand %q refuses", v.Held != nil, who)
	}
	if v.Held == nil {
		return
	}
	s.paper.charge(h.parts[1], 0, "settled")
	h.parts[1] = s.paper.hold(teams.AccountQuotasID(to), h.images, s.clock.Now().Add(time.Hour), h.Day)
	h.Held, h.moved = v.Held, true
}

// agree compares the accounts with paper.
func (s *scopes) agree(about string) {
	day := limit.CalendarOf(s.clock.Now()).Day
	for _, team := range []*teams.Team{s.Team("search"), s.Team("shop"), s.at["eu"].Quotas, s.at["us"].Quotas, s.House.Quotas()} {
		used, held := s.images(team)
		if wantUsed, wantHeld := s.paper.used[of(day, team.ID)], s.paper.held[of(day, team.ID)]; used != wantUsed || held != wantHeld {
			s.T.Fatalf("%s: %s used %d and holds %d, by hand %d and %d", about, team.ID, used, held, wantUsed, wantHeld)
		}
	}
}

// In any history of requests that are held in their team, an account at the service and the house, move between two accounts, end late or
// twice, or never, all three agree with paper after every step, in both forms, and so does whose quota refuses, for how long.
func TestEveryFormAgreesWithTheModelOfOutsideScopes(t *testing.T) {
	unlessTold(t, "rapid.checks", "40")
	eachBranches(t, func(b *branches) {
		file, err := teams.Parse([]byte(paperDoc))
		if err != nil {
			b.Fatal(err)
		}
		b.File = file
		s := &scopes{branches: b, at: map[string]*teams.Account{"eu": account("eu", 5, 0), "us": account("us", 6, 0)}}
		s.paper = paper{used: map[string]int64{}, held: map[string]int64{}, most: map[string]int64{
			"search": 7, "shop": 100, teams.AccountQuotasID("eu"): 5, teams.AccountQuotasID("us"): 6, teams.HouseID: 10,
		}}
		sweep := func(about string) {
			for _, id := range []string{"search", "shop", teams.AccountQuotasID("eu"), teams.AccountQuotasID("us"), teams.HouseID} {
				b.sweep(id)
			}
			s.expire(b.clock.Now())
			s.agree(about)
		}
		rapid.Check(b.T, func(rt *rapid.T) {
			s.T = rt
			b.clock.Move(24 * time.Hour) // a new day
			sweep("a new day")
			s.open = nil
			for range 25 {
				do := rapid.SampledFrom([]string{"admit", "admit", "admit", "settle", "settle", "extend", "move", "tick"}).Draw(rt, "do")
				switch which := rapid.IntRange(0, 20).Draw(rt, "which"); {
				case do == "admit":
					s.admit()
				case do == "tick":
					b.clock.Move(time.Duration(which) * time.Minute)
				case len(s.open) == 0:
				case do == "settle":
					s.settle(s.open[which%len(s.open)])
				case do == "extend":
					s.extend(s.open[which%len(s.open)])
				case do == "move":
					s.changeAccount(s.open[which%len(s.open)])
				}
				sweep(do)
			}
		})
	})
}
