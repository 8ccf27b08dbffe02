package price

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sluice/policy"
	"sluice/policy/unit"
)

// The rules on the size of the pictures of editing models, and of synchronous models.
var (
	editRules = []string{"image.edit.size.area", "image.size.aspect"}
	syncRules = []string{"image.sync.size"}
)

// BeyondRules warns of sizes that no picture has because no rule allows them, in prices that are only for editing
// models, or only for models that make pictures synchronously. edits and syncs are the patterns of these models. It
// does not warn if modes let requests with such sizes pass.
func (l List) BeyondRules(edits, syncs []policy.Pattern, modes policy.Modes) (warnings []string) {
	warn := func(p *Price, s *Size, allowed string) {
		warnings = append(warnings, fmt.Sprintf("prices: the size %s of %s never counts: no rule allows it, only %s", s.label(), p.Pattern,
			allowed))
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

// edits reports whether the size may be the price of a picture of an editing model.
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

// Hidden warns of sizes named by their pixels, such as 1024*1024, that never count, because a size in up_to_pixels of
// the same price includes them and comes first.
func (l List) Hidden() (warnings []string) {
	for i := range l {
		for _, s := range l[i].Images {
			pixels := policy.Pixels(s.Word)
			at := slices.IndexFunc(l[i].Images, func(b Size) bool { return pixels > 0 && b.UpToPixels >= pixels })
			if at >= 0 {
				warnings = append(warnings, fmt.Sprintf("prices: the size %s of %s never counts: its pictures cost by up_to_pixels, which come "+
					"first, and %d holds them",
					s.label(), l[i].Pattern, l[i].Images[at].UpToPixels))
			}
		}
	}
	return warnings
}

// SizeText writes a size of the ledger for people: "up to 1024 × 1024" for 1048576, "up to 1.5 MP" for pixels that are
// not a square, and "1K" or "1024 × 768" for sizes that requests name so. It does not round, so different sizes have
// different texts.
func SizeText(size string) string {
	pixels, err := strconv.ParseInt(size, 10, 64)
	switch {
	case err != nil || pixels < 1:
		return strings.ReplaceAll(size, "*", " × ")
	case side(pixels)*side(pixels) == pixels:
		side := strconv.FormatInt(side(pixels), 10)
		return "up to " + side + " × " + side
	case pixels < megapixel/100:
		return "up to " + unit.Grouped(pixels) + " pixels"
	}
	return "up to " + megapixels(pixels) + " MP"
}

const megapixel = 1_000_000

// side is the side of the largest square of at most so many pixels.
func side(pixels int64) int64 { return int64(math.Sqrt(float64(pixels))) }

// megapixels writes pixels without trailing zeros.
func megapixels(pixels int64) string {
	text := unit.Grouped(pixels/megapixel) + "." + strconv.FormatInt(megapixel+pixels%megapixel, 10)[1:]
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
