package teams

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
)

// Proof checks a whole trail. The zero Proof has seen no entry; give it every entry with [Proof.Add], the oldest first, and end
// with [Proof.Verify].
type Proof struct {
	Count       int64 // entries seen
	First, Last int64 // their first and last number

	text   []byte // of the last entry
	raises string // the digest of the raises in the last entry that changed them; empty: none did
	faults []string
}

// Add checks the next entry.
func (p *Proof) Add(text []byte) {
	text = bytes.Clone(text)
	e, err := ReadEntry(text)
	if err != nil {
		e.Seq = p.Last + 1
		p.faults = append(p.faults, fmt.Sprintf("entry %d cannot be read", e.Seq))
	}
	switch {
	case p.Count == 0:
		p.First = e.Seq
	case e.Seq > p.Last+1:
		p.faults = append(p.faults, fmt.Sprintf("entries %d to %d are missing", p.Last+1, e.Seq-1))
	case e.Seq <= p.Last:
		p.faults = append(p.faults, fmt.Sprintf("entry %d follows entry %d", e.Seq, p.Last))
	case e.Prev != hexOf(p.text):
		p.faults = append(p.faults, fmt.Sprintf("entry %d is not the one that entry %d follows", p.Last, e.Seq))
	}
	p.Count, p.Last, p.text, p.raises = p.Count+1, e.Seq, text, cmp.Or(e.Raises, p.raises)
}

// Verify lists what is wrong with the trail as a whole, at most ten faults; nil: every entry is unchanged and in its
// place, none is missing, and the directory is as the last entry left it. It trusts s about the ends of the trail: an
// attacker who can write the whole store can also write another trail, so keep a head elsewhere.
func (p *Proof) Verify(s State) []string {
	faults := p.faults
	switch {
	case p.Count == 0 && s.Last != nil:
		faults = append(faults, "the entries are missing")
	case p.Count > 0 && s.Last == nil:
		faults = append(faults, "the directory does not know of its entries")
	case p.Count > 0:
		if p.First > s.First {
			faults = append(faults, fmt.Sprintf("entries %d to %d are missing", s.First, p.First-1))
		} else if p.First < s.First {
			faults = append(faults, fmt.Sprintf("entry %d stands before the first, which is %d", p.First, s.First))
		}
		if !bytes.Equal(p.text, s.Last) {
			faults = append(faults, fmt.Sprintf("entry %d is not the last that was written", p.Last))
		}
	}
	if _, err := s.Open(); err != nil {
		faults = append(faults, err.Error())
	} else if p.raises != hexOf(s.Raises) && (p.raises != "" || p.First <= 1) { // a removed entry may have changed the raises
		faults = append(faults, "the raises are not as the last entry about them left them")
	}
	return faults[:min(len(faults), 10)]
}

// Prove checks the whole trail of a store, and returns the state at its end. A concurrent change is no fault: the trail is read
// again.
func Prove(ctx context.Context, kept Store) (*Proof, State, error) {
	for {
		was, err := kept.Read(ctx)
		if err != nil {
			return nil, was, fmt.Errorf("read the directory: %w", err)
		}
		proof := new(Proof)
		for text, err := range kept.Entries(ctx, false) {
			if err != nil {
				return nil, was, fmt.Errorf("read the audit: %w", err)
			}
			proof.Add(text)
		}
		is, err := kept.Read(ctx)
		if err != nil {
			return nil, is, fmt.Errorf("read the directory: %w", err)
		}
		if bytes.Equal(is.Last, was.Last) && is.First == was.First {
			return proof, is, nil
		}
	}
}
