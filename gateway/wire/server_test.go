package wire

import (
	"net/http"
	"strings"
	"testing"
)

func TestApartPanicsAsItsPartDoes(t *testing.T) {
	panicsWith := func(part func()) (p any) {
		defer func() { p = recover() }()
		Apart(part)
		return nil
	}
	if p := panicsWith(func() {}); p != nil {
		t.Errorf("a part that ends in order: %v", p)
	}
	if p := panicsWith(func() { panic(http.ErrAbortHandler) }); p != http.ErrAbortHandler {
		t.Errorf("a part that cuts the answer: %v", p)
	}
	p, _ := panicsWith(func() { panic("broken") }).(string)
	if !strings.HasPrefix(p, "broken\n") || !strings.Contains(p, "TestApartPanicsAsItsPartDoes") {
		t.Errorf("a part that fails, without its own stack: %q", p)
	}
}
