package wire

import "testing"

// A key is presented once, whole, in one header.
func TestABearerIsOneKey(t *testing.T) {
	for _, tt := range []struct {
		values []string
		want   string
	}{
		{[]string{"Bearer key"}, "key"}, {[]string{"bEARER key"}, "key"}, {nil, ""}, {[]string{"Bearer a", "Bearer b"}, ""},
		{[]string{"Basic key"}, ""}, {[]string{"key"}, ""},
		{[]string{"Bearer a b"}, ""}, {[]string{"Bearer a\tb"}, ""}, {[]string{"Bearer  a"}, ""}, {[]string{"Bearer a,b"}, ""},
	} {
		if got := Bearer(tt.values); got != tt.want {
			t.Errorf("%q: %q", tt.values, got)
		}
	}
}
