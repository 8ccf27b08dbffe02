package chat

import (
	"math"
	"testing"
)

func TestProbabilities(t *testing.T) {
	p := probabilities("A gate.", 3)
	if len(p.Content) != 3 {
		t.Fatalf("%d tokens, want 3", len(p.Content))
	}
	for _, c := range p.Content {
		if len(c.Top) != 3 || c.Top[0].Logprob != c.Logprob || len(c.Bytes) != len(c.Token) {
			t.Errorf("entry is %+v", c)
		}
		for i := 1; i < len(c.Top); i++ {
			if c.Top[i].Logprob > c.Top[0].Logprob+1 || math.IsInf(c.Top[i].Logprob, 0) {
				t.Errorf("alternative %d of %q is %v", i, c.Token, c.Top[i].Logprob)
			}
		}
	}
	if got := probabilities("", 0); got.Content == nil || len(got.Content) != 0 {
		t.Errorf("an empty text has probabilities %v", got.Content)
	}
}
