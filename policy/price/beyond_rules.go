package price

import (
	"fmt"
	"slices"

	"sluice/policy"
)

// The rules on the size of pictures that editing models make.
var sizeRules = [...]string{"image.edit.size.area", "image.size.aspect"}

// BeyondRules warns of sizes that no picture has because no rule allows them: those of prices that are only for editing models, whose
// patterns are edits. It does not if modes let requests with such sizes pass.
func (l List) BeyondRules(edits []policy.Pattern, modes policy.Modes) (warnings []string) {
	for _, rule := range sizeRules {
		if mode, set := modes[rule]; set && mode != policy.ModeRefuse {
			return nil
		}
	}
	for i := range l {
		if !policy.MatchAny(edits, string(l[i].Pattern)) { // only a star matches a star
			continue
		}
		for _, s := range l[i].Images {
			if s.UpToPixels >= policy.MinEditPixels || s.Word != "" && (policy.IsEditSize(s.Word) || !policy.IsSize(s.Word)) {
				continue // a word that is no size is a warning of the file
			}
			warnings = append(warnings, fmt.Sprintf("prices: the size %s of %s never counts: no rule allows it, only 768*768 to 2048*2048 pixels with sides of 1:4 to 4:1", s.label(), l[i].Pattern))
		}
	}
	return warnings
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
