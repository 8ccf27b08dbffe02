package simulator

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestAsRefusal(t *testing.T) {
	late := &refusal{status: 429, code: "Throttling"}
	if got := asRefusal(fmt.Errorf("more: %w", late)); got != late {
		t.Errorf("a wrapped refusal became %v", got)
	}
	got := asRefusal(errors.New("secret detail"))
	if got.status != 500 || got.code != "InternalError" || strings.Contains(got.Error(), "secret") {
		t.Errorf("another error became %v", got)
	}
}
