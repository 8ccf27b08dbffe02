package files

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Pair is a certificate and its key in two files, which are read again when they change. Make it with [OpenPair]; it is safe for
// concurrent use.
type Pair struct {
	certificate, key string // paths
	text             [2][]byte
	inForce          atomic.Pointer[tls.Certificate]
	fault            atomic.Pointer[string] // why the files' content is not in force; nil: it is
}

// OpenPair reads the files. Each has an error of its own; that they do not fit is the certificate's. With one the Pair is nil.
func OpenPair(certificate, key string) (p *Pair, ofCertificate, ofKey error) {
	p = &Pair{certificate: certificate, key: key}
	p.text[0], ofCertificate = Read(certificate)
	p.text[1], ofKey = Read(key)
	if ofCertificate != nil || ofKey != nil {
		return nil, ofCertificate, ofKey
	}
	pair, err := tls.X509KeyPair(p.text[0], p.text[1])
	if err != nil {
		return nil, err, nil
	}
	p.inForce.Store(&pair)
	return p, nil, nil
}

// Get is the certificate in force, as [tls.Config] asks for it at each handshake.
func (p *Pair) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.inForce.Load(), nil }

// State is an error while the files have a content that is not in force.
func (p *Pair) State() error {
	if text := p.fault.Load(); text != nil {
		return errors.New(*text)
	}
	return nil
}

// Watch reads the files every so often until ctx ends. changed is called when another content is in force, with nil, and when it is
// refused, with the reason. Files are written piece by piece and one after the other: so a content counts, and is refused, once it is seen twice.
func (p *Pair) Watch(ctx context.Context, every time.Duration, changed func(error)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var before [2][]byte
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			before = p.look(before, changed)
		}
	}
}

// look reads the files once, and returns the content.
func (p *Pair) look(before [2][]byte, changed func(error)) (now [2][]byte) {
	var err error
	if now[0], err = Read(p.certificate); err == nil {
		now[1], err = Read(p.key)
	}
	if err == nil && bytes.Equal(now[0], p.text[0]) && bytes.Equal(now[1], p.text[1]) {
		p.fault.Store(nil)
		return now
	}
	again := bytes.Equal(now[0], before[0]) && bytes.Equal(now[1], before[1])
	if !again {
		return now
	}
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.X509KeyPair(now[0], now[1])
	}
	if err == nil {
		p.text = now
		p.inForce.Store(&pair)
		p.fault.Store(nil)
		changed(nil)
		return now
	}
	if text := fmt.Sprintf("the previous certificate stays in force: %v", err); p.fault.Swap(&text) == nil {
		changed(err)
	}
	return now
}
