package upstream

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A secret prints as redacted, whatever prints it.
func TestSecretsDoNotPrint(t *testing.T) {
	s := Secret("canary-secret")
	c := struct{ Key Secret }{s}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		for _, value := range []any{s, &s, c, &c, []Secret{s}, errors.Join(fmt.Errorf("x: %v", s))} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, "canary") || strings.Contains(text, "63616e617279") {
				t.Errorf("%s of %T prints %s", verb, value, text)
			}
		}
	}
	if s.Reveal() != "canary-secret" {
		t.Error("the secret is lost")
	}
}
