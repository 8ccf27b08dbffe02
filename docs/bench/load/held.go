package load

import (
	"cmp"
	"sync"
	"time"
)

// Bodies sends the request on every connection but holds back its last part until all others are sent, so that a gateway that
// buffers bodies has all of them in memory. It returns the time until the last answer.
func Bodies(conns []*Conn, request []byte) (time.Duration, error) {
	const last = 64 << 10
	begun := time.Now()
	err := each(conns, func(conn *Conn) error {
		_, err := conn.Write(request[:len(request)-last])
		return err
	})
	if err != nil {
		return 0, err
	}
	err = each(conns, func(conn *Conn) error { return conn.Exchange(request[len(request)-last:]) })
	return time.Since(begun), err
}

// Streams opens a stream on every connection and returns when each has had its first frame.
func Streams(conns []*Conn, request []byte) error {
	const together = 100 // so that no queue of connections or descriptors overflows
	for len(conns) > 0 {
		some := conns[:min(together, len(conns))]
		conns = conns[len(some):]
		err := each(some, func(conn *Conn) error {
			if _, err := conn.Write(request); err != nil {
				return err
			}
			return conn.firstChunk()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls do for all connections concurrently and returns a failure if any failed.
func each(conns []*Conn, do func(*Conn) error) error {
	failures := make([]error, len(conns))
	var all sync.WaitGroup
	for i, conn := range conns {
		all.Go(func() { failures[i] = do(conn) })
	}
	all.Wait()
	return cmp.Or(failures...)
}
