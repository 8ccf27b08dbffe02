package admin

import "testing"

// TestCell: no cell that a client named is run, also where the spreadsheet splits a line at each ; and takes a quote after it for
// the beginning of a quoted cell. Quotes come in pairs in a file: it reads ;""=1+1 as the cell =1+1.
func TestCell(t *testing.T) {
	for name, want := range map[string]string{
		"llm-2.6":      "llm-2.6",
		"=1+1":         "'=1+1",
		"a;=1+1":       "a;'=1+1",
		"a, @SUM(1)":   "a, '@SUM(1)",
		`a;"=1+1;b`:    `a;"'=1+1;b`,
		`a; """ " -1`:  `a; """ " '-1`,
		`"=1+1`:        `"'=1+1`,
		`a"=1`:         `a"=1`,
		"a\t=1\n+1":    `a\t=1\n+1`,
		"a-b;c=d, e+f": "a-b;c=d, e+f",
	} {
		if got := Cell(name); got != want {
			t.Errorf("Cell(%q) = %q, want %q", name, got, want)
		}
	}
}
