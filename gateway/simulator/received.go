package simulator

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"
)

// Received records one request as it arrived, and its outcome.
type Received struct {
	// ID is the request id that was answered, in body and header.
	ID string
	// At is the time by Config.Now.
	At time.Time
	// Method, Path (as on the wire, still escaped), Query and Host are those of the request line.
	Method, Path, Query, Host string
	// Endpoint is one of the Endpoint words.
	Endpoint string
	// Header holds every header as received, without Host.
	Header http.Header
	// RemoteAddr is the other end of the connection.
	RemoteAddr string
	// Body is the body's beginning, at most Config.KeepBody bytes of it.
	Body []byte
	// BodySize is the whole body's length in bytes and BodySHA256 its hash in hex.
	BodySize   int64
	BodySHA256 string
	// Status is the HTTP status answered; zero until then, and for good if the connection ended without one.
	Status int
	// Executed reports that the work was done: text or images were made or a task was created.
	Executed bool
	// Violation names a fault of the request, such as two Authorization headers; empty: none.
	Violation string
}

// newReceived describes a request with that body, of which it keeps so many bytes. ID, At and Endpoint are left to the
// caller.
func newReceived(r *http.Request, body []byte, keep int) *Received {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if path == "" { // a request made by httptest, which was never on a wire
		path = r.URL.EscapedPath()
	}
	sum := sha256.Sum256(body)
	return &Received{
		Method: r.Method, Path: path, Query: r.URL.RawQuery, Host: r.Host,
		Header: r.Header.Clone(), RemoteAddr: r.RemoteAddr,
		Body:     append([]byte(nil), body[:min(len(body), max(keep, 0))]...),
		BodySize: int64(len(body)), BodySHA256: hex.EncodeToString(sum[:]),
	}
}
