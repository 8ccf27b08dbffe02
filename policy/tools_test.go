package policy

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestToolNames(t *testing.T) {
	for c := range rune(0x100) {
		legal := c < utf8.RuneSelf && strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", c)
		if isToolName(string(c)) != legal {
			t.Errorf("%q: %v", c, !legal)
		}
	}
}
