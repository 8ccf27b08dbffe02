package redisstore

import (
	"crypto/sha1" //nolint:gosec // a short name of a row, not a protection
	"strconv"
	"strings"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/policy/unit"
)

// The suffixes of ledger fields with the estimated part, and of fields of scopes inside the team with what is held.
const (
	estimatedPart = "|estimated"
	heldPart      = "|held"
)

// fieldsOfRow is the usual least number of fields of a row: requests, tokens, spend, its kinds.
const fieldsOfRow = 4

// dayScan is how far a day of a team has been read.
type dayScan struct {
	team         *team
	day, size    int
	cursor       uint64
	named, ended bool
	rows         []limit.Row
	at           map[string]int // of the rows, by name
	last         string         // the row's name of the last field; the next one is most likely of the same row
	lastAt       int
	kinds        map[string][]string // pieces of what a row used by kind, by field
}

// readField reads one field: model|endpoint|unit, model|endpoint@account|unit, or that of its estimated or held part.
func (all *reading) readField(s *dayScan, field, value string) {
	if all.kinds && isKindsField(field) {
		s.addPiece(field, value)
		return
	}
	name, estimated := strings.CutSuffix(field, estimatedPart)
	name, held := strings.CutSuffix(name, heldPart)
	if held && all.held == nil {
		return
	}
	cut := strings.LastIndexByte(name, '|')
	if cut < 0 {
		return
	}
	unit, of := unit.Index(unit.Name(name[cut+1:])), name[:cut]
	split := strings.LastIndexByte(of, '|')
	n, err := strconv.ParseInt(value, 10, 64)
	if unit < 0 || split < 0 || err != nil {
		return
	}
	switch row := &s.rows[all.rowAt(s, of, split)]; {
	case held:
		amounts := all.held[dayRow{s.team.id, s.day, of}]
		amounts[unit] = n
		all.held[dayRow{s.team.id, s.day, of}] = amounts
	case estimated:
		row.Estimated[unit] = n
	default:
		row.Used[unit] = n
	}
}

// rowAt returns the index of the row of model|endpoint@account, which is split there.
func (all *reading) rowAt(s *dayScan, of string, split int) int {
	if of == s.last {
		return s.lastAt
	}
	at, known := s.at[of]
	if !known {
		if at = len(s.rows); s.at == nil {
			s.at, s.rows = make(map[string]int, s.size/fieldsOfRow), make([]limit.Row, 0, s.size/fieldsOfRow+1)
		}
		s.at[of] = at
		row := limit.Row{Team: s.team.id, Day: s.day, Model: of[:split], Endpoint: policy.Endpoint(of[split+1:])}
		if endpoint, account, other := strings.Cut(of[split+1:], "@"); other {
			row.Endpoint, row.Account = policy.Endpoint(endpoint), account
		}
		s.rows = append(s.rows, row)
		all.count++
	}
	s.last, s.lastAt = of, at
	return at
}

// kindsName is how many bytes of a name's digest name the field with what a row used by kind. Of a thousand rows of a day, two have the
// same bytes on one day in 500 million.
const kindsName = 6

// kindsField is the field with the kinds of a row by its name, [limit.LedgerName]: kinds_field of kinds.lua. Every other field but "day"
// is longer, even than this one followed by the number of a piece.
func kindsField(row string) string {
	sum := sha1.Sum([]byte(row)) //nolint:gosec // as above
	return string(sum[:kindsName])
}

func isKindsField(field string) bool { return len(field) >= kindsName && len(field) <= kindsName+2 }

// addPiece adds a piece of what a row used by kind: the first has no number, the second has 2.
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
