package chat

import (
	"encoding/json"
	"testing"
)

// Required members of a usage are zero if unused, the rest is absent.
func TestEmptyUsageOnTheWire(t *testing.T) {
	got, err := json.Marshal(textUsage{})
	if want := `{"input_tokens":0,"output_tokens":0}`; err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
}
