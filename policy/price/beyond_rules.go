package price

import (
	"fmt"
	"slices"

	"sluice/policy"
)

// The rules on the size of pictures that editing models make, and on that of synchronous ones.
var (
	editRules = []string{"image.edit.size.area", "image.size.aspect"}
	syncRules = []string{"image.sync.size"}
)

// BeyondRules warns of sizes that no picture has because no rule allows them: those of prices that are only for editing models, or for those that
// make pictures synchronously, whose patterns are edits and syncs. It does not if modes let requests with such sizes pass.
func (l List) BeyondRules(edits, syncs []policy.Pattern, modes policy.Modes) (warnings []string) {
	warn := func(p *Price, s *Size, allowed string) {
		warnings = append(warnings, fmt.Sprintf("prices: the size %s of %s never counts: no rule allows it, only %s", s.label(), p.Pattern, allowed))
	}
	edited, synced := refused(modes, editRules), refused(modes, syncRules)
	for i := range l {
		p := &l[i] // only a star of a pattern matches its own star
		edit, sync := policy.MatchAny(edits, string(p.Pattern)), policy.MatchAny(syncs, string(p.Pattern))
		for j := range p.Images {
			switch s := &p.Images[j]; {
			case s.Word != "" && !policy.IsSize(s.Word): // that is a warning of the file
			case edit && edited && !sync && !p.edits(s):
				warn(p, s, "768*768 to 2048*2048 pixels with sides of 1:4 to 4:1")
			case sync && synced && !edit && s.Word != "" && policy.Pixels(s.Word) == 0:
				warn(p, s, "width*height")
			}
		}
	}
	return warnings
}

// edits reports whether a picture of an editing model may cost by a size.
func (p *Price) edits(s *Size) bool {
	if s.Word != "" {
		return policy.IsEditSize(s.Word)
	}
	holdsAll := func(other Size) bool {
		return other.UpToPixels >= policy.MaxEditPixels && other.UpToPixels < s.UpToPixels
	}
	return s.UpToPixels >= policy.MinEditPixels && !slices.ContainsFunc(p.Images, holdsAll)
}

func refused(modes policy.Modes, rules []string) bool {
	return !slices.ContainsFunc(rules, func(rule string) bool {
		mode, set := modes[rule]
		return set && mode != policy.ModeRefuse
	})
}

// Hidden warns of sizes in pixels by their word, such as 1024*1024, that no picture costs by, because pixels of the same price hold it:
// those come first.
func (l List) Hidden() (warnings []string) {
	for i := range l {
		for _, s := range l[i].Images {
			pixels := policy.Pixels(s.Word)
			at := slices.IndexFunc(l[i].Images, func(b Size) bool { return pixels > 0 && b.UpToPixels >= pixels })
			if at >= 0 {
				warnings = append(warnings, fmt.Sprintf("prices: the size %s of %s never counts: its pictures cost by up_to_pixels, which come first, and %d holds them",
					s.label(), l[i].Pattern, l[i].Images[at].UpToPixels))
			}
		}
	}
	return warnings
}
