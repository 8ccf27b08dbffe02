package files

import "crypto/tls"

// Pair is a certificate and its key in two files, which are read again when they change. Make it with [OpenPair].
type Pair struct{ kept[tls.Certificate] }

// OpenPair reads the files. Each has an error of its own; that they do not fit is the certificate's. With one the Pair is nil.
func OpenPair(certificate, key string) (p *Pair, ofCertificate, ofKey error) {
	p = new(Pair)
	p.read = func() (contents, error) { return readAll(certificate, key) }
	p.made = func(now, _ contents) (*tls.Certificate, error) {
		pair, err := tls.X509KeyPair(now[certificate], now[key])
		return &pair, err
	}
	_, ofCertificate = Read(certificate)
	_, ofKey = Read(key)
	if ofCertificate != nil || ofKey != nil {
		return nil, ofCertificate, ofKey
	}
	if err := p.open(); err != nil {
		return nil, err, nil
	}
	return p, nil, nil
}

// Get is the certificate in force, as [tls.Config] asks for it at each handshake.
func (p *Pair) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.inForce.Load(), nil }
