package policy

import "testing"

func TestHosts(t *testing.T) {
	for host, want := range map[string]bool{
		"a": true, "a.example": true, "A-1.example": true, "under_score.example": true, "a:80": true, "192.0.2.1": true,
		"[::1]": true, "[::1]:8080": true, "[::ffff:192.0.2.1]": true, "a:": true, "a.": true,
		"": false, ":80": false, "a:b": false, "a:123456": false, "a b": false, "a@b": false, "a\\b": false, "é": false,
		"[": false, "[]": false, "[::1": false, "[::1]x": false, "[::g]": false, "[::1]:x": false, "a%41": false, "a,b": false,
	} {
		if got := isHost([]byte(host)); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}
