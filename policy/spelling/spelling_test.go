package spelling_test

import (
	"strings"
	"testing"

	"sluice/policy/spelling"
)

// TestNearest finds one typing error, and no other word.
func TestNearest(t *testing.T) {
	known := []string{"SLUICE_LISTEN", "SLUICE_ADMIN_LISTEN", "limit", "limits", "per"}
	for word, want := range map[string]string{
		"SLUICE_LISTEN":            "SLUICE_LISTEN",
		"SLUICE_LISTNE":            "SLUICE_LISTEN", // swapped
		"SLUICE_LSTEN":             "SLUICE_LISTEN", // missing
		"SLUICE_LISTTEN":           "SLUICE_LISTEN", // doubled
		"SLUICE_ADMIN_LISTENS":     "SLUICE_ADMIN_LISTEN",
		"limut":                    "limit",
		"limitz":                   "limit", // as near to limits: the first counts
		"pre":                      "per",
		"limxz":                    "", // two of five
		"xyz":                      "",
		"p":                        "",
		"":                         "",
		strings.Repeat("x", 1<<20): "",
	} {
		if got := spelling.Nearest(word, known); got != want {
			t.Errorf("the nearest to %.20q is %q, want %q", word, got, want)
		}
	}
	if got := spelling.Nearest("a", nil); got != "" {
		t.Errorf("of no words %q is the nearest", got)
	}
}
