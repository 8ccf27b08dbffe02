package hooks

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"sluice/gateway/upstream"
)

// The reasons why no answer came.
var (
	errLate    = fmt.Errorf("no answer within %v", patience)
	errInside  = errors.New("its name leads to an address that is not public: SLUICE_HOOK_NETWORKS allows others")
	errNoName  = errors.New("its name cannot be looked up")
	errRefused = errors.New("the connection was refused")
	errProxy   = errors.New("the house's proxy refused the way to it")
	errNoWay   = errors.New("there is no connection to it")
	errNoTLS   = errors.New("TLS failed: its certificate is not for its name or not trusted, or it does not speak TLS")
	errCut     = errors.New("the connection ended before an answer")
	errNotHTTP = errors.New("its answer is not valid HTTP")
)

// why says in fixed words why no answer came.
func why(ctx context.Context, err error) error {
	var timeout net.Error
	switch {
	case ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		return errLate
	case upstream.IsGuarded(err):
		return errInside
	case is[*net.DNSError](err):
		return errNoName
	case errors.Is(err, syscall.ECONNREFUSED):
		return errRefused
	case is[*tls.CertificateVerificationError](err), is[tls.RecordHeaderError](err), is[tls.AlertError](err):
		return errNoTLS
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return errCut
	case is[*upstream.ProxyError](err):
		return errProxy
	case is[*net.OpError](err):
		return errNoWay
	}
	return errNotHTTP
}

// is reports whether an error is, or wraps, one of a type.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
