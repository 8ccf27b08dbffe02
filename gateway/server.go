package gateway

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// NewServer returns the server for a listener of Sluice's. Its timeouts for a whole request and a whole answer are those of
// what net/http answers itself, and of a handler that sets none: the gateway sets its own for each read and each write,
// or they would cut uploads and streams. TLS, where the operator wants it, is the caller's to serve with.
func NewServer(handler http.Handler, errors *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       slowStart,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    32<<10 - 4096, // net/http adds 4,096 to what it is told
		ErrorLog:          slog.NewLogLogger(errors.Handler(), slog.LevelDebug),
		// The frames of HTTP/2 are written for all streams of a connection together, beyond the deadlines of each.
		HTTP2: &http.HTTP2Config{WriteByteTimeout: 30 * time.Second},
		// OPTIONS * is answered by the routes, like everything else.
		DisableGeneralOptionsHandler: true,
	}
}

// Listen opens the public listener. Its keep-alive probes free the connection of a client that lost its power within a
// minute.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 3}}
	return config.Listen(ctx, "tcp", address)
}
