package upstream

import "testing"

func TestTheKeyIsRecognised(t *testing.T) {
	if c := NewCredential("sk-key"); !c.Is("sk-key") || c.Is("sk-kez") || c.Is("") {
		t.Error("the key is taken for another text, or another text for the key")
	}
}
