package billing

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// The bills of docs/money.md are those of its price list.
func TestTheBillsOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/money.md")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile("(?s)```yaml\n(currency: .*?)```").FindSubmatch(page)
	file, err := teams.Parse(list[1])
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([0-9-]+) \\| `([^`]+)` \\| (.+) \\|$").FindAllSubmatch(page, -1)
	if len(rows) < 10 {
		t.Fatalf("%d bills", len(rows))
	}
	for _, row := range rows {
		day, _ := strconv.Atoi(strings.ReplaceAll(string(row[2]), "-", ""))
		reading := readingOf(`{"usage":` + string(row[3]) + `}`)
		used := UsageOf(&reading, true, "")
		bill, contradicts := price.Of(file.Prices.For(string(row[1]), day), &used)
		var lines []string
		for l := range bill.Lines() {
			lines = append(lines, fmt.Sprintf("%s %d: %s", l.Kind, l.Quantity, unit.Nanos.Written(unit.NameSpend, l.Amount)))
		}
		if got := strings.Join(lines, ", "); got != string(row[4]) || contradicts {
			t.Errorf("%s on %s: %s is %s, want %s", row[1], row[2], row[3], got, row[4])
		}
	}
}
