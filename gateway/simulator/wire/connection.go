package wire

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"sluice/gateway/simulator/answer"
)

// This file holds what a correct handler never does to a connection.

// inform sends n answers of status 103.
func inform(w http.ResponseWriter, n int) {
	if n == 0 {
		return
	}
	w.Header().Set("Link", "</early>; rel=preload; as=script")
	for range n {
		w.WriteHeader(http.StatusEarlyHints)
	}
	w.Header().Del("Link")
}

// seize takes the connection away from the server. If that is impossible (HTTP/2, a recorder) it aborts the handler,
// which breaks the answer too.
func seize(w http.ResponseWriter) net.Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return conn
}

// hangUp closes the connection, with a reset if asked.
func hangUp(w http.ResponseWriter, reset bool) {
	conn := seize(w)
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0) // a TLS or pipe connection simply closes
	}
	_ = conn.Close()
}

// cutOff ends a started answer early, in one of the ways of Fault.Cut.
func cutOff(w http.ResponseWriter, way string) {
	switch way {
	case "reset":
		hangUp(w, true)
	case "close":
		flush(w) // what was written must arrive before the break
		panic(http.ErrAbortHandler)
	}
}

// upgrade answers 101 and opens a raw tunnel.
func upgrade(w http.ResponseWriter) {
	conn := seize(w)
	defer conn.Close()
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nraw tunnel\n")
}

// blanks writes white space until the client has left.
func blanks(ctx context.Context, w http.ResponseWriter) {
	chunk := bytes.Repeat([]byte(" "), 32<<10)
	for ctx.Err() == nil {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// kept is a ResponseWriter that keeps everything.
type kept struct {
	bytes.Buffer
	header http.Header
	status int
}

// Header returns the header kept.
func (k *kept) Header() http.Header { return k.header }

// WriteHeader keeps the status.
func (k *kept) WriteHeader(status int) { k.status = status }

// crawl sends the answer with a pause before every header line. It writes HTTP itself, since the server sends a header
// in one piece.
func (x *Exchange) crawl(a answer.Answer) {
	whole, w := &kept{header: x.W.Header().Clone()}, x.W
	x.W = whole
	x.sendBody(a)
	whole.header.Set("Content-Length", strconv.Itoa(whole.Len()))
	whole.header.Set("Connection", "close")
	var head bytes.Buffer
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", whole.status, http.StatusText(whole.status))
	_ = whole.header.Write(&head) // into memory
	conn := seize(w)
	defer conn.Close()
	for line := range bytes.Lines(append(head.Bytes(), "\r\n"...)) {
		if !pause(x.Ctx, x.Fault.HeaderDelay) {
			return
		}
		if _, err := conn.Write(line); err != nil {
			return
		}
	}
	_, _ = conn.Write(whole.Bytes())
}
