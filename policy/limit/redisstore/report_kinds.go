package redisstore

import (
	"crypto/sha1" //nolint:gosec // a short name of a row, not a protection
	"strconv"
	"strings"

	"sluice/policy/limit"
	"sluice/policy/price"
)

// kindsName is how many bytes of a name's digest name the field with what a row used by kind. Of a thousand rows of a day two have the same
// in one of 500 million days.
const kindsName = 6

// kindsField is the field of a row by its name, [limit.LedgerName]: kinds_field of kinds.lua. Every other field but "day" is longer, also than
// this one with the number of a piece behind it.
func kindsField(row string) string {
	sum := sha1.Sum([]byte(row)) //nolint:gosec // as above
	return string(sum[:kindsName])
}

func isKindsField(field string) bool { return len(field) >= kindsName && len(field) <= kindsName+2 }

// addPiece adds a piece of what a row used by kind: the first has no number, the next is 2.
func (s *dayScan) addPiece(field, value string) {
	n, err := strconv.Atoi(field[kindsName:])
	if len(field) == kindsName {
		n, err = 1, nil
	}
	if err != nil || n < 1 {
		return
	}
	if s.kinds == nil {
		s.kinds = map[string][]string{}
	}
	name := field[:kindsName]
	for len(s.kinds[name]) < n {
		s.kinds[name] = append(s.kinds[name], "")
	}
	s.kinds[name][n-1] = value
}

// addKinds adds what was used by kind to the rows, when all are read.
func (s *dayScan) addKinds() {
	for i := range s.rows {
		if len(s.kinds) == 0 {
			return
		}
		row := &s.rows[i]
		if pieces := s.kinds[kindsField(limit.LedgerName(row.Model, row.Endpoint, row.Account))]; pieces != nil {
			row.Kinds = price.ReadByKind(strings.Join(pieces, ""))
		}
	}
}
