package recent

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// How many requests are kept, of all replicas together. Those without a team have a list of their own, and no team fills the list of
// the teams, so that nobody pushes out the requests of others.
const (
	MostLines   = 10_000
	MostOfTeam  = MostLines / 4 // while other teams have some
	MostUnknown = 500           // requests without a team, beside the others
)

// Bound is the bound of the lines that are kept, in words.
const Bound = "kept requests: 500 without a team, 2500 of one team while others have some, 10000 of all teams"

// Line is a finished request.
type Line struct {
	At   time.Time // when it arrived, to the microsecond, in UTC
	Text string    // its log line, in JSON, without a line end

	read  *fields // of Text; nil: they were not read yet
	owner string  // the team, as far as it was looked for
}

func (l Line) compare(other Line) int {
	return cmp.Or(l.At.Compare(other.At), strings.Compare(l.Text, other.Text))
}

func (l Line) equal(other Line) bool { return l.compare(other) == 0 }

// team is the team in the text; empty: there is none.
func (l Line) team() string {
	if l.read != nil {
		return l.read.team
	}
	if l.owner != "" {
		return l.owner
	}
	team, _ := l.member(`,"team":"`)
	return team
}

// newest sorts lines, oldest first, drops repetitions, and leaves the newest ones that are kept. A line may have been posted twice,
// because the reply to the first post was lost.
func newest(lines []Line) []Line {
	slices.SortFunc(lines, Line.compare)
	lines = slices.CompactFunc(lines, Line.equal)
	return last(lines, 1)
}

// last leaves the last lines that are kept, or several times as many, in their order.
func last(lines []Line, times int) []Line {
	_, share := shares(lines)
	left, unknown, teams := times*MostLines, times*MostUnknown, map[string]int{}
	to := len(lines)
	for i, line := range slices.Backward(lines) {
		room := &unknown
		if team := line.team(); team != "" {
			if teams[team] == times*share {
				continue
			}
			teams[team]++
			room = &left
		}
		if *room == 0 {
			continue
		}
		*room--
		to--
		lines[to] = lines[i]
	}
	return slices.Delete(lines, 0, to)
}

// shares returns how many lines the team with most has, and how many a team may have.
func shares(lines []Line) (most, share int) {
	teams := map[string]int{}
	for i := range lines {
		if team := lines[i].team(); team != "" {
			teams[team]++
			most = max(most, teams[team])
		}
	}
	if len(teams) > 1 {
		return most, MostOfTeam
	}
	return most, MostLines
}
