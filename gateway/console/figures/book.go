package figures

import (
	"sluice/policy/limit"
)

// book is the ledger of some days.
type book interface {
	total(day int) Use
	add(to adder, days []int, by string)
}

// sumBook is of all teams.
type sumBook map[DayBy]Sum

// addTags adds the use of tags, and returns the days of which there are too many for a sum.
func (b sumBook) addTags(to adder, days []int) (rest []int) {
	var whole []int
	for _, day := range days {
		if b[DayBy{day, "tag"}].Whole {
			whole = append(whole, day)
		} else {
			rest = append(rest, day)
		}
	}
	b.add(to, whole, "tag")
	return rest
}

func (b sumBook) total(day int) (u Use) {
	sum := b[DayBy{day, "endpoint"}]
	for row := range sum.Rows() {
		u.add(&row.Use)
	}
	return u
}

func (b sumBook) add(to adder, days []int, by string) {
	if by == "day" {
		for _, day := range days {
			to.add(dayName(day), b.total(day))
		}
		return
	}
	at, uses, names := map[string]int{}, []Use{}, []string{}
	for _, day := range days {
		sum, next := b[DayBy{day, by}], 0
		for row := range sum.Rows() {
			if next == len(names) || names[next] != row.Name { // else it follows the same name as on another day
				var known bool
				if next, known = at[row.Name]; !known {
					next = len(names)
					at[row.Name], names, uses = next, append(names, row.Name), append(uses, Use{})
				}
			}
			uses[next].add(&row.Use)
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
		use := useOf(&b[day][i])
		u.add(&use)
	}
	return u
}

func (b rowBook) add(to adder, days []int, by string) {
	for _, day := range days {
		for i := range b[day] {
			to.add(nameOf(&b[day][i], by), useOf(&b[day][i]))
		}
	}
}

// nameOf is what a row of the ledger counts under in one of the [ways] to add up.
func nameOf(row *limit.Row, by string) string {
	switch by {
	case "team":
		return row.Team
	case "model":
		return row.Model
	case "endpoint":
		return string(row.Endpoint)
	case "day":
		return dayName(row.Day)
	}
	return row.Tag
}
