package price

import (
	"encoding/binary"
	"iter"
)

// ByKind is what requests used, added up by kind and, of pictures, by size. The zero ByKind has nothing. Equal sums are equal texts.
//
// It is packed as the ledger keeps it, because Redis has one for each day, model and endpoint. Of each line in turn:
//
//	1 byte   the kind in the lower four bits; in the upper four the number of the rate's trailing zeros, 14 at most; 15: the rate changed
//	uvarint  only for pictures: the length of the size, and then the size
//	uvarint  the quantity
//	uvarint  the rate without those zeros; if the rate changed, the amount, which ends the line
//	uvarint  only for tokens whose rate has fewer than six trailing zeros: by how much the amount × 10⁶ exceeds quantity × rate, without as
//	         many zeros: what was rounded up, request by request. With six zeros nothing is rounded
//
// So most lines have no amount, and lines of one rate are added up without a multiplication.
type ByKind string

// ByKind is the use in one bill.
func (b *Bill) ByKind() ByKind {
	var s Sum
	s.AddBill(b)
	return s.ByKind()
}

// ReadByKind reads a sum that a script packed, whose lines may be in any order.
func ReadByKind(text string) ByKind {
	var s Sum
	s.Add(ByKind(text))
	return s.ByKind()
}

// Plus adds another sum.
func (k ByKind) Plus(more ByKind) ByKind {
	if more == "" {
		return k
	}
	var s Sum
	s.Add(k)
	s.Add(more)
	return s.ByKind()
}

// Lines yields the lines, in the order of Table and then by size. Rate is [Mixed] if the rate changed. Kinds of a
// later version are left out.
func (k ByKind) Lines() iter.Seq[Line] {
	return func(yield func(Line) bool) {
		for p := range k.parts() {
			if p.kind >= Unknown {
				continue
			}
			l := Line{Kind: p.kind, Size: p.size, Quantity: p.quantity, Rate: Mixed, Amount: p.amount()}
			if p.zeros != anyRate {
				l.Rate = mulDiv(p.rate, powers[p.zeros], 0, 1)
			}
			if !yield(l) {
				return
			}
		}
	}
}

// parts reads the lines. A text that is cut off reads as if zeros followed, as in the scripts, so that no text stops a charge.
func (k ByKind) parts() iter.Seq[part] {
	return func(yield func(part) bool) {
		for rest := string(k); rest != ""; {
			head := rest[0]
			p := part{kind: Kind(head & 15), zeros: int(head >> 4)}
			rest = rest[1:]
			if p.kind == Image {
				var n int64
				n, rest = number(rest)
				n = min(n, int64(len(rest)))
				p.size, rest = rest[:n], rest[n:]
			}
			p.quantity, rest = number(rest)
			if p.zeros != anyRate {
				p.rate, rest = number(rest)
			}
			if p.zeros == anyRate || p.rounds() {
				p.rest, rest = number(rest)
			}
			if !yield(p) {
				return
			}
		}
	}
}

// number reads an amount. One that is too large to be counted becomes the largest that can be.
func number(text string) (n int64, rest string) {
	for i := range len(text) {
		if b := int64(text[i] & 0x7f); 7*i < 56 {
			n |= b << (7 * i)
		} else if b > 0 {
			n = 1 << 62
		}
		if text[i] < 0x80 {
			return bounded(n), text[i+1:]
		}
	}
	return bounded(n), ""
}

// append packs a line.
func (p *part) append(b []byte) []byte {
	b = append(b, byte(p.kind)|byte(p.zeros)<<4)
	if p.kind == Image {
		b = append(binary.AppendUvarint(b, uint64(len(p.size))), p.size...)
	}
	b = binary.AppendUvarint(b, uint64(p.quantity))
	if p.zeros != anyRate {
		b = binary.AppendUvarint(b, uint64(p.rate))
	}
	if p.zeros == anyRate || p.rounds() {
		b = binary.AppendUvarint(b, uint64(p.rest))
	}
	return b
}
