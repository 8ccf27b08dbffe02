package chart

import (
	"math"
	"strconv"

	"sluice/policy/unit"
)

// roundUp returns the least round number not below x. A round number and its half have few digits.
func roundUp(x float64) float64 {
	if x <= 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0
	}
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, step := range []float64{1, 1.2, 1.6, 2, 3, 4, 5, 6, 8} {
		if step*power >= x {
			return step * power
		}
	}
	return 10 * power
}

func coordinate(x float64) string { return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) }

// Scale returns the power of a thousand in which a large number is written, and its letter.
func Scale(x float64) (size float64, word string) {
	switch {
	case x >= 1e12:
		return 1e12, "T"
	case x >= 1e9:
		return 1e9, "G"
	case x >= 1e6:
		return 1e6, "M"
	}
	return 1e3, "k"
}

// axis formats a value of an axis, which has few digits, such as 2.5 k; 0 is "".
func axis(x float64) string {
	switch {
	case x == 0:
		return ""
	case x >= 1e4:
		size, word := Scale(x)
		return short(x/size) + "\u00a0" + word
	case x >= 1e3:
		return unit.Grouped(int64(x))
	}
	return short(x)
}

// short formats a number of few digits without binary rounding errors: 0.3, not 0.30000000000000004.
func short(x float64) string {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', 5, 64), 64) // cannot fail
	return strconv.FormatFloat(x, 'f', -1, 64)
}
