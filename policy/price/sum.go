package price

import (
	"cmp"
	"slices"
	"strings"

	"sluice/policy/unit"
)

// Mixed is the Rate of a line whose rate changed.
const Mixed = -1

// Sum adds up bills. The zero Sum is empty.
type Sum struct{ parts []part }

// AddBill adds a bill.
func (s *Sum) AddBill(b *Bill) {
	for k := range b { // not over Lines: it would put every charge on the heap
		if b[k].Quantity > 0 {
			s.add(partOf(&b[k]))
		}
	}
}

// Add adds a sum.
func (s *Sum) Add(k ByKind) {
	for p := range k.parts() {
		s.add(p)
	}
}

// ByKind packs the sum.
func (s *Sum) ByKind() ByKind {
	slices.SortFunc(s.parts, func(p, q part) int { return cmp.Or(cmp.Compare(p.kind, q.kind), strings.Compare(p.size, q.size)) })
	b := make([]byte, 0, 16*len(s.parts))
	for i := range s.parts {
		b = s.parts[i].append(b)
	}
	return ByKind(b)
}

// SizesMost is how many sizes a [Sum] counts separately. Pictures of further sizes count as pictures without a size.
const SizesMost = 30

func (s *Sum) add(p part) {
	i := s.find(&p)
	if i < 0 && p.size != "" && s.sizes() >= SizesMost {
		p.size = ""
		i = s.find(&p)
	}
	if i >= 0 {
		s.parts[i].join(&p)
		return
	}
	s.parts = append(s.parts, p)
}

// find returns the index of the line of a kind and size; -1: none.
func (s *Sum) find(p *part) int {
	for i := range s.parts {
		if s.parts[i].kind == p.kind && s.parts[i].size == p.size {
			return i
		}
	}
	return -1
}

func (s *Sum) sizes() (n int) {
	for i := range s.parts {
		if s.parts[i].size != "" {
			n++
		}
	}
	return n
}

const (
	anyRate   = 15 // the zeros of a rate that is Mixed
	mostZeros = 14
	sizeMost  = 24 // bytes of a size that are kept
)

// powers has the powers of ten that a rate may end with.
var powers = func() (p [mostZeros + 1]int64) {
	p[0] = 1
	for i := range mostZeros {
		p[i+1] = 10 * p[i]
	}
	return p
}()

// part is a line of a ByKind.
type part struct {
	kind     Kind
	size     string
	zeros    int   // trailing zeros of the rate, or anyRate
	quantity int64 // tokens or pictures
	rate     int64 // without its zeros
	rest     int64 // what was rounded up, times 10⁶⁻ᶻᵉʳᵒˢ; with anyRate the amount
}

// partOf is a line of a bill. If its amount is not its quantity × rate, rounded up, it has no rate.
func partOf(l *Line) part {
	p := part{kind: l.Kind, quantity: bounded(l.Quantity), zeros: anyRate, rest: bounded(l.Amount)}
	if l.Kind == Image {
		p.size = strings.ToValidUTF8(l.Size[:min(len(l.Size), sizeMost)], "")
	}
	if l.Rate < 0 || p.rest == unit.Most || times(p.quantity, l.Rate, l.Kind.per()) != l.Amount {
		return p
	}
	exact := part{kind: p.kind, size: p.size, quantity: p.quantity, rate: bounded(l.Rate)}
	for exact.zeros < mostZeros && exact.rate%10 == 0 {
		exact.rate, exact.zeros = exact.rate/10, exact.zeros+1
	}
	if exact.rounds() {
		c := powers[6-exact.zeros]
		exact.rest = (c - mulMod(exact.quantity, exact.rate, c)) % c
	}
	return exact
}

// rounds reports whether amounts of the rate may have been rounded up.
func (p *part) rounds() bool { return p.kind.per() > 1 && p.zeros < 6 }

// amount is what the line costs. It may be more than a limit counts: the row of the ledger goes on, too.
func (p *part) amount() int64 {
	zeros := p.zeros
	switch {
	case p.zeros == anyRate:
		return p.rest
	case p.rounds():
		return product(p.quantity, p.rate, p.rest, powers[6-p.zeros])
	case p.kind.per() > 1:
		zeros -= 6
	}
	return product(product(p.quantity, p.rate, 0, 1), powers[zeros], 0, 1)
}

// join adds another line of the same kind and size.
func (p *part) join(q *part) {
	if p.zeros == q.zeros && p.rate == q.rate {
		p.quantity, p.rest = bounded(p.quantity+q.quantity), bounded(p.rest+q.rest)
		return
	}
	*p = part{kind: p.kind, size: p.size, zeros: anyRate, quantity: bounded(p.quantity + q.quantity), rest: bounded(p.amount() + q.amount())}
}
