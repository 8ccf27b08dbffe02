package chat

import (
	"encoding/json"
	"testing"
)

// What a usage must tell stands there as zero, the rest is absent.
func TestEmptyUsageOnTheWire(t *testing.T) {
	got, err := json.Marshal(textUsage{})
	if want := `{"input_tokens":0,"output_tokens":0}`; err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
}
