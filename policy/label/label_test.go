package label_test

import (
	"slices"
	"testing"

	"sluice/policy"
	"sluice/policy/label"
)

func TestOnlyWordsOfTheOperatorAreLabels(t *testing.T) {
	labels := label.New([]string{"llm-max"}, []policy.Pattern{"llm-image*", "llm-*", "*", "gen2.6-image", "llm-*"})
	for model, want := range map[string]string{
		"llm-max": "llm-max", "gen2.6-image": "gen2.6-image", "llm-image-2": "llm-image*", "llm-plus": "llm-*", "x": label.Other,
		"": label.Other, "*": label.Other,
	} {
		if got := labels.Of(model); got != want {
			t.Errorf("%q is labelled %q, want %q", model, got, want)
		}
	}
	all := labels.All()
	if slices.Sort(all); !slices.Equal(all, []string{"gen2.6-image", "llm-*", "llm-image*", "llm-max", label.Other}) {
		t.Errorf("all are %q", all)
	}
}
