package chart

// Limit is the bar of a limit, 100 wide: used, then held, then left.
type Limit struct {
	Used, Held string // widths
	At         string // where held begins
	State      string // "", "near" (less than a tenth is left) or "full"
}

// NewLimit computes the bar of a limit. Amounts beyond the limit fill the bar.
func NewLimit(used, held, limit int64) Limit {
	if limit <= 0 {
		return Limit{Used: "100", Held: "0", At: "100", State: "full"}
	}
	share := func(n int64) float64 { return min(max(100*float64(n)/float64(limit), 0), 100) }
	u := visible(share(used), used)
	h := min(visible(share(held), held), 100-u)
	b := Limit{Used: coordinate(u), Held: coordinate(h), At: coordinate(u)}
	switch left := limit - used - held; {
	case left <= 0:
		b.State = "full"
	case float64(left) < float64(limit)/10:
		b.State = "near"
	}
	return b
}

// visible returns at least 1 for anything above zero.
func visible(width float64, n int64) float64 {
	if n > 0 {
		return max(width, 1)
	}
	return width
}

// Share returns a width of at most 100 for a part of a whole.
func Share(part, whole int64) string {
	if whole <= 0 || part <= 0 {
		return "0"
	}
	return coordinate(visible(min(100*float64(part)/float64(whole), 100), part))
}
