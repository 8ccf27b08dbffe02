package policy

import (
	"strconv"
	"strings"
)

// Brief quotes a client's input for a message, cut to 64 bytes.
func Brief(input string) string {
	if len(input) > 64 {
		input = input[:64] + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(input, "?"))
}
