package figures

import (
	"sluice/gateway/console/figures/daily"
	"sluice/policy/limit"
)

// book is the ledger of some days as one person sees it.
type book interface {
	total(day int) Use
	add(to adder, days []int, by string)
}

// sumBook is of all teams.
type sumBook map[daily.Of]daily.Sum

// addTags adds the use of tags, and returns the days of which there are too many for a sum.
func (b sumBook) addTags(to adder, days []int) (rest []int) {
	var whole []int
	for _, day := range days {
		if b[daily.Of{Day: day, By: daily.ByTag}].Whole {
			whole = append(whole, day)
		} else {
			rest = append(rest, day)
		}
	}
	b.add(to, whole, string(daily.ByTag))
	return rest
}

func (b sumBook) total(day int) (u Use) {
	sum := b[daily.Of{Day: day, By: daily.ByEndpoint}]
	for row := range sum.Rows() {
		u = u.Plus(Use{row.Used, row.Estimated})
	}
	return u
}

func (b sumBook) add(to adder, days []int, by string) {
	if by == "day" {
		for _, day := range days {
			if use := b.total(day); use != (Use{}) {
				to.add(dayName(day), use)
			}
		}
		return
	}
	at, uses, names := map[string]int{}, []Use{}, []string{}
	for _, day := range days {
		sum, next := b[daily.Of{Day: day, By: daily.By(by)}], 0
		for row := range sum.Rows() {
			if next == len(names) || names[next] != row.Name { // else it follows the same name as on another day
				var known bool
				if next, known = at[row.Name]; !known {
					next = len(names)
					at[row.Name], names, uses = next, append(names, row.Name), append(uses, Use{})
				}
			}
			for unit := range row.Used {
				uses[next].Used[unit] += row.Used[unit]
				uses[next].Estimated[unit] += row.Estimated[unit]
			}
			next++
		}
	}
	for i, name := range names {
		to.add(name, uses[i])
	}
}

// rowBook is of some teams.
type rowBook map[int][]limit.Row

func (b rowBook) total(day int) (u Use) {
	for i := range b[day] {
		u = u.Plus(useOf(&b[day][i]))
	}
	return u
}

func (b rowBook) add(to adder, days []int, by string) {
	for _, day := range days {
		for i := range b[day] {
			row := &b[day][i]
			name := ""
			switch by {
			case "team":
				name = row.Team
			case "model":
				name = row.Model
			case "endpoint":
				name = string(row.Endpoint)
			case "day":
				name = dayName(day)
			}
			to.add(name, useOf(row))
		}
	}
}
