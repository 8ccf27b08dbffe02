// Package spelling guesses which known word was meant by one that is not known. It knows nothing of what words are for.
package spelling

// Nearest returns the known word that word is most likely a typing error of, or "" if none is near: at most a third of
// the longer word's letters may be wrong, missing, added or swapped with their neighbour. Of equally near words the
// first counts.
func Nearest(word string, known []string) string {
	const longest = 128 // the table grows with the product of the lengths
	if len(word) > longest {
		return ""
	}
	nearest, least := "", len(word)+1
	for _, candidate := range known {
		if len(candidate) > longest {
			continue
		}
		slips := distance(word, candidate)
		if slips < least && slips*3 <= max(len(word), len(candidate)) {
			nearest, least = candidate, slips
		}
	}
	return nearest
}

// distance is the number of single-letter errors, swapped neighbours among them, that turn a into b (optimal string
// alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			other := last[j-1]
			if a[i-1] != b[j-1] {
				other++
			}
			row[j] = min(last[j]+1, row[j-1]+1, other)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
