package pages

import "testing"

func TestSentencesOfTheTable(t *testing.T) {
	for from, want := range map[string]string{
		"1: | model | string | yes | Model name. |":       "model · string · yes · Model name.",
		"M: | role | string | system, user or assistant.": "role · string · system, user or assistant.",
		"3: X-Service-Async: enable (required).":          "X-Service-Async: enable (required).",
		"X-Service-Async: enable":                         "X-Service-Async: enable",
		"":                                                "",
	} {
		if got := plain(from); got != want {
			t.Errorf("%q: %q, want %q", from, got, want)
		}
	}
}
