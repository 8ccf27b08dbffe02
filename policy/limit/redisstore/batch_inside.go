package redisstore

import (
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// insideSum is what a batch changes in a day's hash of the scopes of one kind inside the team.
type insideSum struct {
	kind   limit.ScopeKind
	known  []any // fields that the hash must have: the names are known to the day
	counts []any // field, amount
	of     []insideCount
}

// insideCount is the meaning of one of the counts, whose new value the reply has.
type insideCount struct {
	scopeCount
	used bool // of a scope whose use is kept, to restore it
}

func newInsideSum(kind limit.ScopeKind, day int, all *rows[limit.Inner]) insideSum {
	s := insideSum{kind: kind}
	for i, part := range all.names {
		name, sum := part.Name(), &all.sums[i]
		s.known = append(s.known, knownField(name))
		for unit, word := range teams.Units {
			field, of := name+"||"+string(word), insideCount{scopeCount: scopeCount{scopeDay{kind, day, name}, unit, 0}}
			s.add(field+estimatedPart, sum.doubt[unit], of)
			if part.Counted() {
				s.add(field+heldPart, -sum.freed[unit], of)
			}
			of.used = part.Counted()
			s.add(field, sum.used[unit], of)
		}
	}
	return s
}

// knownField is a field that a day's hash has if a name is counted under itself, as known_name in holds.lua has it.
func knownField(name string) string {
	if name == "" || name == limit.Other {
		return "day"
	}
	return "#" + name
}

func (s *insideSum) add(field string, n int64, of insideCount) {
	if n != 0 {
		s.counts, s.of = append(s.counts, field, n), append(s.of, of)
	}
}

// read reads the new values, and returns those that are kept.
func (s *insideSum) read(in *reply) (list []scopeCount) {
	for i := range s.of {
		n := in.next()
		if of := &s.of[i]; of.used {
			of.n = n
			list = append(list, of.scopeCount)
		}
	}
	return list
}
