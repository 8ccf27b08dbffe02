package price

import (
	"math"
	"strconv"
	"strings"

	"sluice/policy/unit"
)

// SizeText writes a size of the ledger for people: "up to 1024 × 1024" for 1048576, "up to 1.5 MP" for pixels that make no square, and
// "1K" or "1024 × 768" for what requests name so. It rounds nothing, so that two sizes are never one text.
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

// side is that of the largest square of at most so many pixels.
func side(pixels int64) int64 { return int64(math.Sqrt(float64(pixels))) }

// megapixels writes pixels without trailing zeros.
func megapixels(pixels int64) string {
	text := unit.Grouped(pixels/megapixel) + "." + strconv.FormatInt(megapixel+pixels%megapixel, 10)[1:]
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
