package upstream

import (
	"net/http"
	"testing"
)

// A value in an outbound request cannot start a new header.
func TestHeadCannotBeSplit(t *testing.T) {
	r, err := http.NewRequest("POST", "http://host/api/v1/x?q", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header["X-Service-Workspace"] = []string{"a\r\nEvil: b"}
	head := string(appendHead(nil, r, 5))
	if want := "POST /api/v1/x?q HTTP/1.1\r\nHost: host\r\nContent-Length: 5\r\nX-Service-Workspace: a  Evil: b\r\n\r\n"; head != want {
		t.Errorf("got %q, want %q", head, want)
	}
}

// A query that came over HTTP/2 may have blanks, which no request line may have: a lenient service would read the version in it.
func TestTheRequestLineHasThreeWords(t *testing.T) {
	r, err := http.NewRequest("GET", "http://host/api/v1/uploads?x=1 HTTP/1.0", nil)
	if err != nil {
		t.Fatal(err)
	}
	head := string(appendHead(nil, r, 0))
	if want := "GET /api/v1/uploads?x=1%20HTTP/1.0 HTTP/1.1\r\nHost: host\r\n\r\n"; head != want {
		t.Errorf("got %q, want %q", head, want)
	}
}
