package meter

import "strconv"

// parseNumber reads a JSON number.
func parseNumber(token []byte) (float64, bool) {
	if len(token) > 15 {
		return parseFloat(token)
	}
	n := 0
	for _, c := range token {
		if c < '0' || c > '9' {
			return parseFloat(token)
		}
		n = n*10 + int(c-'0')
	}
	return float64(n), len(token) > 0
}

// parseFloat reads decimal numbers alone: ParseFloat also accepts NaN, Inf, hexadecimal digits and underscores.
func parseFloat(token []byte) (float64, bool) {
	for _, c := range token {
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	n, err := strconv.ParseFloat(string(token), 64)
	return n, err == nil
}
