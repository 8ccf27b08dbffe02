package upstream

import (
	"net/http"
	"testing"
)

// H09: a value in an outbound request cannot start a new header.
func TestHeadCannotBeSplit(t *testing.T) {
	r, err := http.NewRequest("POST", "http://host/api/v1/x?q", nil)
	if err != nil {
		t.Fatal(err)
	}
	head := string(appendHead(nil, r, []Field{{"X-Service-Workspace", "a\r\nEvil: b"}}, 5))
	if want := "POST /api/v1/x?q HTTP/1.1\r\nHost: host\r\nContent-Length: 5\r\nX-Service-Workspace: a  Evil: b\r\n\r\n"; head != want {
		t.Errorf("got %q, want %q", head, want)
	}
}
