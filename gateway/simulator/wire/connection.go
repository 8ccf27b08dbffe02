package wire

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

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

// pause waits for d, and reports whether the context is still valid.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func flush(w http.ResponseWriter) {
	// A writer that cannot flush has no client that could notice.
	_ = http.NewResponseController(w).Flush()
}
