package figures

import (
	"strings"
	"testing"
)

func TestAPanicOfAReadingComesToItsReader(t *testing.T) {
	var g Group
	g.Go(func() error { panic("the roof fell in") })
	defer func() {
		if text, _ := recover().(string); !strings.HasPrefix(text, "the roof fell in\n") {
			t.Errorf("%q", text)
		}
	}()
	t.Errorf("no panic, %v", g.Wait())
}
