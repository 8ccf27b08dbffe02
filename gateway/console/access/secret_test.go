package access

import (
	"bytes"
	"testing"
)

func TestSealedIsReadWithItsSecretAlone(t *testing.T) {
	secret, text := newSecret(), []byte("a refresh token")
	sealed := seal(secret, text)
	if bytes.Contains(sealed, text) || bytes.Equal(sealed, seal(secret, text)) {
		t.Error("what is sealed can be read or compared")
	}
	if got, ok := open(secret, sealed); !ok || !bytes.Equal(got, text) {
		t.Errorf("opened %q %v", got, ok)
	}
	sealed[len(sealed)-1] ^= 1
	if _, ok := open(secret, sealed); ok {
		t.Error("a changed text opens")
	}
	if _, ok := open(newSecret(), seal(secret, text)); ok {
		t.Error("another secret opens it")
	}
}

func TestSecretsAreLongAndDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		seen[newSecret()] = true
	}
	for secret := range seen {
		if len(secret) != 43 || len(derive(secret, "verifier")) != 43 || derive(secret, "a") == derive(secret, "b") || seen[derive(secret, "a")] {
			t.Errorf("%q", secret)
		}
	}
	if len(seen) != 100 {
		t.Error("a secret came twice")
	}
}
