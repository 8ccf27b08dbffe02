package gateway

import (
	"context"
	"strings"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// tagsShown is how many values of its tag a team sees. A day may have a thousand.
const tagsShown = 100

// tags reads how the values of the team's tag stand to their quotas; nil if the query does not have tags. It reads a ledger, and so
// waits for its turn as that does.
func (u *usage) tags(ctx context.Context, team *teams.Team, query string, at time.Time) (list []usageTag, err error) {
	if !asksTags(query) {
		return nil, nil
	}
	var standings []limit.Standing
	done, err := u.inTurn(ctx, team.ID, func(ctx context.Context) (err error) {
		if len(team.TagQuotas) > 0 {
			standings, err = u.accounts.LookTags(ctx, team, at)
		}
		return err
	})
	done()
	if err != nil {
		return nil, refuse(refuseState).say("The usage of team %s cannot be read at the moment; send the request again.", team.ID).because(err).retry(time.Second)
	}
	list = []usageTag{}
	values := map[limit.Tag]bool{}
	for i := range standings {
		if values[standings[i].Tag] = true; len(values) > tagsShown {
			break
		}
		list = append(list, usageTag{standings[i].Tag.Value(), readLimit(&standings[i], at)})
	}
	return list, nil
}

// asksTags reports whether a query has the parameter tags.
func asksTags(query string) bool {
	for part := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(part, "="); name == "tags" {
			return true
		}
	}
	return false
}
