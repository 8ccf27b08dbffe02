package usage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

const (
	// tagsShown is how many values of its tag a team sees. A day may have a thousand.
	tagsShown = 100
	// ledgerPatience bounds the wait for the turn to read a ledger, and then the reading.
	ledgerPatience = 2 * time.Second
	// ledgerRows is how many rows, one for each day, model and endpoint, a report may have. A single day has fewer.
	ledgerRows = 5000
)

// pastUse is what needs a ledger. Parts that the query does not ask for are nil.
type pastUse struct {
	tags   []usageTag
	keys   []usageKey
	ledger []limit.Entry
}

// past reads what needs a ledger: the quotas of values of the team's tag if the query has tags, the limits of its keys, and the rows of
// the days that it names. This process reads one ledger at a time, and a team may have one such report at a time, until done is called:
// a report costs the team nothing, but it costs time and memory.
func (u *Reports) past(ctx context.Context, a *Asker, now time.Time) (p pastUse, done func(), err error) {
	done = func() {}
	days, err := limit.AskedDays(a.Query, now)
	if err != nil {
		return p, done, &ErrQuery{err.Error()}
	}
	word, _ := asks(a.Query, "by")
	by, known := limit.LedgerBy(word)
	if !known {
		return p, done, &ErrQuery{fmt.Sprintf("by: given %s, allowed tag, key or account", policy.Brief(word))}
	}
	_, tags := asks(a.Query, "tags")
	_, keys := asks(a.Query, "keys")
	_, kinds := asks(a.Query, "kinds")
	if kinds && !by.HasKinds() {
		return p, done, &ErrQuery{
			fmt.Sprintf("kinds: given beside by=%s, allowed without it: the ledger has kinds by day, model and endpoint only", by),
		}
	}
	if own := a.Team.Key(a.Key) != nil; tags || keys || own || days != nil {
		done, err = u.inTurn(ctx, a.Team.ID, func(ctx context.Context) (err error) {
			if tags {
				p.tags, err = u.tags(ctx, a.Team, now)
			}
			if err == nil && (keys || own) {
				p.keys, err = u.keys(ctx, a, keys, now)
			}
			if err == nil && days != nil {
				p.ledger, err = u.ledger(ctx, a.Team, by, days, kinds)
			}
			return err
		})
	}
	switch {
	case errors.Is(err, limit.ErrRows):
		err = &ErrQuery{fmt.Sprintf("days: given %d with more than %d rows of a day, a model and an endpoint, allowed %[2]d: ask for fewer days",
			len(days), ledgerRows)}
	case err != nil:
		err = fmt.Errorf("%w: %w", ErrLedger, err)
	}
	return p, done, err
}

// asks returns the value of a parameter, and reports whether the query has it. Malformed parts are skipped.
func asks(query, name string) (value string, ok bool) {
	for part := range strings.SplitSeq(query, "&") {
		if of, value, _ := strings.Cut(part, "="); of == name {
			return value, true
		}
	}
	return "", false
}

// tags reads the standings of the values of the team's tag.
func (u *Reports) tags(ctx context.Context, team *teams.Team, at time.Time) (list []usageTag, err error) {
	list = []usageTag{}
	if len(team.TagQuotas) > 0 {
		err = u.inside(ctx, team, limit.ScopeTag, at, func(s *limit.Standing) { list = append(list, usageTag{s.Of, s.Entry(team.Money, at)}) })
	}
	return list, err
}

// keys reads the standings of the team's keys, or only of the one that asks.
func (u *Reports) keys(ctx context.Context, a *Asker, all bool, at time.Time) (list []usageKey, err error) {
	list = []usageKey{}
	err = u.inside(ctx, a.Team, limit.ScopeKey, at, func(s *limit.Standing) {
		if all || s.Of == a.Key {
			list = append(list, usageKey{s.Of, s.Entry(a.Team.Money, at)})
		}
	})
	return list, err
}

// inside calls take with the standings of a team's parts: of all its keys, or of the first values of its tag.
func (u *Reports) inside(ctx context.Context, team *teams.Team, k limit.ScopeKind, at time.Time, take func(*limit.Standing)) error {
	standings, err := u.balances.LookInside(ctx, team, k, at)
	names := map[string]bool{}
	for i := range standings {
		if names[standings[i].Of] = true; k == limit.ScopeTag && len(names) > tagsShown {
			break
		}
		take(&standings[i])
	}
	return err
}

func (u *Reports) ledger(ctx context.Context, team *teams.Team, by limit.ScopeKind, days []int, kinds bool) ([]limit.Entry, error) {
	rows, err := u.balances.Rows(ctx, limit.Query{Teams: []string{team.ID}, Days: days, By: by, Most: ledgerRows})
	entries := []limit.Entry{}
	for i := range rows {
		entries = append(entries, rows[i].Entries(team.Money, kinds)...)
	}
	return entries, err
}

// inTurn waits until the team has no other report and this process reads no other ledger, and then reads.
func (u *Reports) inTurn(ctx context.Context, team string, read func(context.Context) error) (done func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, ledgerPatience)
	defer cancel()
	done, err = takeRoom(waiting, u.loads.Of(team).Reading)
	if err != nil {
		return done, err
	}
	ended, err := takeRoom(waiting, u.reading)
	if err != nil {
		return done, err
	}
	defer ended()
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), ledgerPatience)
	defer cancel()
	return done, read(ctx)
}

// takeRoom waits for room. The caller MUST call done, which makes room again.
func takeRoom(ctx context.Context, room chan struct{}) (done func(), err error) {
	select {
	case room <- struct{}{}:
		return func() { <-room }, nil
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
}
