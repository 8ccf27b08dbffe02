package chat

import "testing"

func TestStopSequences(t *testing.T) {
	const text = "one two three"
	for _, tt := range []struct {
		name string
		stop any
		want string
	}{
		{"none", nil, text},
		{"a string", " two", "one"},
		{"several: the first place counts", []any{" three", "two"}, "one "},
		{"absent", "four", text},
		{"empty", "", text},
		{"token ids stop nothing", []any{1., 2.}, text},
	} {
		if got := stopped(text, tt.stop); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
