package figures

import (
	"context"
	"slices"

	"sluice/gateway/console/access"
	"sluice/policy/limit"
)

// ledger reads what teams used on days, as one person sees it.
type ledger struct {
	accounts Ledger
	sums     *sums
}

// book reads days of one team, or of all teams that a person sees, for adding them up in one way.
func (l *ledger) book(ctx context.Context, p access.Person, team string, days []int, by string) (book, error) {
	if team == "" && p.SeesAll() {
		ways := []string{"endpoint"} // for the totals
		if by == "team" || by == "model" || by == "tag" {
			ways = append(ways, by)
		}
		return l.sums.of(ctx, days, ways...)
	}
	ids := p.Teams
	if team != "" {
		if !p.Sees(team) {
			return nil, ErrAbsent
		}
		ids = []string{team}
	}
	return l.rows(ctx, ids, days)
}

// rows reads days of some teams.
func (l *ledger) rows(ctx context.Context, ids []string, days []int) (rowBook, error) {
	b := rowBook{}
	if len(ids) == 0 { // else they would be all
		return b, nil
	}
	rows, err := l.accounts.Rows(ctx, limit.Query{Teams: ids, Days: days})
	for i := range rows {
		b[rows[i].Day] = append(b[rows[i].Day], rows[i])
	}
	return b, err
}

// untagged names the use of requests without a tag. No tag has a space.
const untagged = "without a tag"

// tagged reads the ledger of tags of a person's own teams, or of one team; nothing if that may not be seen.
func (l *ledger) tagged(ctx context.Context, p access.Person, team string, days []int) ([]limit.Row, error) {
	ids := p.Teams
	if team != "" {
		ids = []string{team}
	}
	if team == "" && p.SeesAll() || team != "" && !p.Sees(team) || len(ids) == 0 {
		return nil, nil
	}
	return l.accounts.Rows(ctx, limit.Query{Teams: ids, Days: days, Tags: true})
}

// byTag adds up what was used for each tag. The rest of the total is untagged.
func (l *ledger) byTag(ctx context.Context, b book, tagged []limit.Row, days []int, total Use) (adder, error) {
	byName := adder{}
	if sums, all := b.(sumBook); all {
		for part := range slices.Chunk(sums.addTags(byName, days), readAtOnce) {
			rows, err := l.accounts.Rows(ctx, limit.Query{Days: part, Tags: true})
			if err != nil {
				return nil, err
			}
			byName.addTagged(rows) // there may be a million for each part
		}
	}
	byName.addTagged(tagged)
	sum := Use{}
	for _, use := range byName {
		sum.add(&use)
	}
	if rest := (Use{total.Used.Minus(sum.Used), total.Estimated.Minus(sum.Estimated)}); rest != (Use{}) {
		byName.add(untagged, rest)
	}
	return byName, nil
}
