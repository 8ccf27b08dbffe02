package recent

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Line is a finished request.
type Line struct {
	At   time.Time // when it arrived, to the microsecond, in UTC
	Text string    // its log line, in JSON, without a line end
}

func (l Line) compare(other Line) int {
	return cmp.Or(l.At.Compare(other.At), strings.Compare(l.Text, other.Text))
}

// newest sorts lines, oldest first, drops repetitions, and leaves the newest [MostLines]. A line may have been posted twice,
// because the reply to the first post was lost.
func newest(lines []Line) []Line {
	slices.SortFunc(lines, Line.compare)
	lines = slices.Compact(lines)
	return slices.Delete(lines, 0, max(len(lines)-MostLines, 0))
}
