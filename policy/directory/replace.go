package directory

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// ReplaceTeam replaces every member of a team but its id and keys. Its Keys must be empty: they stay as they are, but a key_days
// that is set or lowered gives each key an end that has none, or a later one.
type ReplaceTeam struct {
	Team Team
	Now  time.Time
}

func (c ReplaceTeam) apply(d *Document) (Entry, error) {
	at, before, err := d.need(c.Team.ID)
	if err == nil {
		err = c.Team.check()
	}
	if err != nil {
		return Entry{}, err
	}
	after := Team{ID: before.ID, Keys: slices.Clone(before.Keys), Members: c.Team.Members}
	if days, was := after.keyDays(0), before.keyDays(0); days > 0 && (was == 0 || days < was) {
		last := endOf(c.Now, days)
		for i, k := range after.Keys {
			if k.Expires == nil || k.Expires.After(last) {
				after.Keys[i].Expires = &last
			}
		}
	}
	d.Teams[at] = after
	return Entry{What: "team.change", Team: after.ID, Before: before.unlike(after), After: after.unlike(before)}, nil
}

// keyDays is the longest life of a new key in days; 0: any. A team without the member has the defaults'.
func (t Team) keyDays(defaults int) int {
	value, given := t.Members["key_days"]
	if !given {
		return defaults
	}
	var days int
	if json.Unmarshal(value, &days) != nil {
		return 0 // none
	}
	return days
}

// endOf is so many days from now, in whole seconds.
func endOf(now time.Time, days int) time.Time {
	return now.UTC().Truncate(time.Second).AddDate(0, 0, days)
}

func inDays(days int) string {
	if days == 1 {
		return "1 day"
	}
	return strconv.Itoa(days) + " days"
}
