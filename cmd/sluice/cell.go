package main

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// printable writes a name that a client made up so that it shows what it is: control and format characters, which move a
// terminal's cursor or turn the direction of what follows, are escaped as in Go's strings.
func printable(name string) string {
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

// cell is printable for a spreadsheet, which takes a cell that begins like a formula for one: an apostrophe before its
// sign makes it text. Where ; or , part the columns, a cell may begin inside a name.
func cell(name string) string {
	var b strings.Builder
	begins := true
	for _, r := range printable(name) {
		if begins && strings.ContainsRune("=+-@＝＋－＠", r) {
			b.WriteByte('\'')
		}
		b.WriteRune(r)
		begins = r == ';' || r == ',' || begins && r == ' '
	}
	return b.String()
}
