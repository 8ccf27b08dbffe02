package prose

// Dice makes deterministic choices (splitmix64). The same hash must give the same text in every Go version; math/rand
// promises that for some of its sources only.
type Dice uint64

// Roll returns a number from 0 to n-1.
func (d *Dice) Roll(n int) int {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

func (d *Dice) pick(words []string) string {
	return words[d.Roll(len(words))]
}
