package gateway

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// NewServer returns the server for one of Sluice's listeners. Its timeouts for a whole request and a whole answer apply to what
// net/http answers itself, and to handlers that set none. The gateway sets its own for each read and each write: timeouts for
// the whole would cut uploads and streams. The caller adds TLS.
func NewServer(handler http.Handler, errors *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       slowStart,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    32<<10 - 4096, // net/http adds 4,096
		ErrorLog:          slog.NewLogLogger(errors.Handler(), slog.LevelDebug),
		// The deadlines of single streams do not bound the writing of HTTP/2 frames. Each stream may be a request that runs.
		HTTP2: &http.HTTP2Config{WriteByteTimeout: 30 * time.Second, MaxConcurrentStreams: 100},
		// The routes answer OPTIONS *, like every other request.
		DisableGeneralOptionsHandler: true,
	}
}

// Listen opens the public listener. Its keep-alive probes free the connection of a client that lost power, within a minute.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 3}}
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return clientListener{listener}, nil
}
