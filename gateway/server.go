package gateway

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// NewServer returns the server for the public listener. It has no timeout for whole answers, which would cut streams:
// each write has its own. TLS, where the operator wants it, is the caller's to serve with.
func NewServer(handler http.Handler, errors *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    32<<10 - 4096, // net/http adds 4,096 to what it is told
		ErrorLog:          slog.NewLogLogger(errors.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, boundKey{}, new(time.Time))
		},
		// OPTIONS * is answered by the routes, like everything else.
		DisableGeneralOptionsHandler: true,
	}
}

// boundKey is where a connection keeps the write deadline that is in force on it, so that requests which follow each other
// closely need not set it anew: to set one costs as much as to find a task's answer.
type boundKey struct{}

// Listen opens the public listener. Its keep-alive probes free the connection of a client that lost its power within a
// minute.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 3}}
	return config.Listen(ctx, "tcp", address)
}
