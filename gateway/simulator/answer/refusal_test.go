package answer

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestAsRefusal(t *testing.T) {
	late := &Refusal{Status: 429, Code: "Throttling"}
	if got := AsRefusal(fmt.Errorf("more: %w", late)); got != late {
		t.Errorf("a wrapped refusal became %v", got)
	}
	got := AsRefusal(errors.New("secret detail"))
	if got.Status != 500 || got.Code != "InternalError" || strings.Contains(got.Error(), "secret") {
		t.Errorf("another error became %v", got)
	}
}
