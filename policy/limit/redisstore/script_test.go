package redisstore

import (
	"fmt"
	"strings"
	"testing"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// The scripts repeat the units and the number of open_tasks.
func TestScriptsHaveTheUnits(t *testing.T) {
	var words []string
	for _, unit := range teams.Units {
		words = append(words, "'"+string(unit)+"'")
	}
	if line := "local UNITS = {" + strings.Join(words, ", ") + "}\n"; !strings.Contains(commonLua, line) {
		t.Errorf("common.lua lacks %q", line)
	}
	if text := fmt.Sprintf("fault, wait = %d, 5000000", limit.LimitTasks); !strings.Contains(admitLua, text) {
		t.Errorf("admit.lua lacks %q", text)
	}
}
