package gateway

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// conn is a connection to upstream that counts what was written on it. The count answers the one question on which
// re-sending hangs: has a byte of this request left? net/http's own hook (WroteHeaders) also fires when the header went
// into a buffer of a dead connection.
type conn struct {
	net.Conn
	written atomic.Int64
	stall   time.Duration // the longest that one write may wait for upstream to read
}

func (c *conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

// newTransport speaks HTTP/1.1 to upstream over counted connections. It follows no proxy from the environment, which
// would be handed the key, and never asks for compression, which would hide usage.
func newTransport(config *Config) *http.Transport {
	dialer := &net.Dialer{Timeout: config.ConnectTimeout}
	count := func(c net.Conn, err error) (net.Conn, error) {
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c, stall: config.IdleTimeout}, nil
	}
	// The count lies above TLS, so that a handshake is not taken for a request.
	secure := &tls.Dialer{NetDialer: dialer, Config: &tls.Config{MinVersion: tls.VersionTLS12}}
	return &http.Transport{
		Proxy: nil,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return count(dialer.DialContext(ctx, network, address))
		},
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, config.ConnectTimeout) // the handshake's time included
			defer cancel()
			return count(secure.DialContext(ctx, network, address))
		},
		DisableCompression:     true,
		MaxIdleConns:           0, // no bound over all hosts: there is one host
		MaxIdleConnsPerHost:    512,
		IdleConnTimeout:        30 * time.Second, // shorter than load balancers keep them, so that few are dead when used
		ResponseHeaderTimeout:  config.HeaderTimeout,
		MaxResponseHeaderBytes: 64 << 10,
		WriteBufferSize:        8 << 10,
		ReadBufferSize:         8 << 10,
		Protocols:              http1(),
	}
}

func http1() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}
