// Package load sends requests to a gateway and waits for their answers. It speaks HTTP/1.1 on connections that it keeps.
package load

import (
	"bufio"
	"fmt"
	"io"
	"net"

	"sluice/docs/bench/wire"
)

// Conn is a client's connection. One goroutine may use it at a time.
type Conn struct {
	net.Conn
	in *bufio.Reader
}

// Dial makes n connections.
func Dial(address string, n int) ([]*Conn, error) {
	conns := make([]*Conn, 0, n)
	for range n {
		conn, err := net.Dial("tcp", address) //nolint:noctx // on loopback it hardly waits
		if err != nil {
			Close(conns)
			return nil, err
		}
		conns = append(conns, &Conn{Conn: conn, in: bufio.NewReaderSize(conn, 4<<10)})
	}
	return conns, nil
}

// Close closes them all.
func Close(conns []*Conn) {
	for _, conn := range conns {
		_ = conn.Close()
	}
}

// Exchange sends a request and reads its answer to the end. An answer that is not 200 is an error.
func (c *Conn) Exchange(request []byte) error {
	if _, err := c.Write(request); err != nil {
		return err
	}
	return c.answer()
}

// Ask is Exchange for a short answer of declared length. It returns the answer's body.
func (c *Conn) Ask(request []byte) ([]byte, error) {
	if _, err := c.Write(request); err != nil {
		return nil, err
	}
	head, err := wire.ReadHead(c.in)
	if err != nil {
		return nil, err
	}
	body := make([]byte, head.Length)
	_, err = io.ReadFull(c.in, body)
	return body, err
}

func (c *Conn) answer() error {
	head, err := wire.ReadHead(c.in)
	if err != nil {
		return err
	}
	if head.Status != 200 {
		text := make([]byte, min(head.Length, 300))
		n, _ := c.in.Read(text)
		return fmt.Errorf("answer %d: %s", head.Status, text[:n])
	}
	return wire.SkipBody(c.in, head)
}

// firstChunk reads the answer's head and the first chunk of its body, and leaves the rest.
func (c *Conn) firstChunk() error {
	head, err := wire.ReadHead(c.in)
	if err == nil && (head.Status != 200 || !head.Chunked) {
		err = fmt.Errorf("no stream but an answer %d", head.Status)
	}
	if err == nil {
		_, err = wire.SkipChunk(c.in)
	}
	return err
}
