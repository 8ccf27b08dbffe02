package admin

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Printable escapes control and format characters of a client's text as in Go's strings: they would move a terminal's
// cursor or change the direction of writing.
func Printable(name string) string {
	var b strings.Builder
	for len(name) > 0 {
		r, size := utf8.DecodeRuneInString(name)
		if strconv.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(name[:size])
		} else {
			quoted := strconv.Quote(name[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		name = name[size:]
	}
	return b.String()
}

// Cell is [Printable] for a spreadsheet, which runs a cell that begins like a formula: an apostrophe before the sign makes it
// text. A cell may begin inside a name, because ; and , separate columns, and quotes before a sign may not be a part of the cell.
func Cell(name string) string {
	var b strings.Builder
	begins := true
	for _, r := range Printable(name) {
		if begins && strings.ContainsRune("=+-@＝＋－＠", r) {
			b.WriteByte('\'')
		}
		b.WriteRune(r)
		begins = r == ';' || r == ',' || begins && (r == ' ' || r == '"')
	}
	return b.String()
}
