package telemetry

import (
	"log/slog"

	"sluice/policy/unit"
)

// Limit is the state of the limit that refused a request, at that moment. Its amounts are in its unit.
type Limit struct {
	Name  string // as headers name it: images-day, requests, open_tasks, concurrent; empty: no limit refused
	Scope string // whose it is: team, tag, key, account or house
	Of    string // which value of the tag, key or account; empty: the only one
	Unit  string // requests, tokens, images, spend; tasks in flight or requests in flight have the limit's name
	Per   string // the time of a rate such as 1m, or the period of a quota; empty: the limit is on concurrency
	Money unit.Money

	Used, Held, Left int64 // a rate has only Left
	Limit            int64
	Asked            int64 // by the request; 0: not known
}

// amounts returns the members that are amounts of the limit's unit.
func (l *Limit) amounts() [5]struct {
	name string
	n    int64
} {
	return [5]struct {
		name string
		n    int64
	}{{"used", l.Used}, {"held", l.Held}, {"left", l.Left}, {"limit", l.Limit}, {"asked", l.Asked}}
}

// texts returns the other members. Empty ones are left out of the line.
func (l *Limit) texts() [5]struct{ name, text string } {
	return [5]struct{ name, text string }{{"name", l.Name}, {"scope", l.Scope}, {"of", l.Of}, {"unit", l.Unit}, {"per", l.Per}}
}

// append writes the limit in JSON, money in the currency.
func (l *Limit) append(b []byte) []byte {
	b = append(b, '{')
	for _, m := range l.texts() {
		if m.text != "" {
			b = appendQuoted(appendName(b, m.name), m.text)
		}
	}
	for _, m := range l.amounts() {
		b = appendAmount(appendName(b, m.name), l.Money, unit.Name(l.Unit), m.n)
	}
	return append(b, '}')
}

func (l *Limit) attr(name string) slog.Attr {
	var attrs []slog.Attr
	for _, m := range l.texts() {
		if m.text != "" {
			attrs = append(attrs, slog.String(m.name, m.text))
		}
	}
	for _, m := range l.amounts() {
		attrs = append(attrs, amountAttr(m.name, l.Money, unit.Name(l.Unit), m.n))
	}
	return slog.GroupAttrs(name, attrs...)
}
