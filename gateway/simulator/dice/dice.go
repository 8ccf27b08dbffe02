// Package dice makes deterministic choices.
package dice

// Dice is a tiny deterministic source of choices (splitmix64): the same hash must give the same text in every Go
// version, which math/rand only promises for some of its sources.
type Dice uint64

func (d *Dice) Roll(n int) int {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

func (d *Dice) Pick(words []string) string {
	return words[d.Roll(len(words))]
}
