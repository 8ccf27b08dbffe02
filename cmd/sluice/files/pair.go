package files

import "crypto/tls"

// Pair is a certificate and its key in two files, which are read again when they change. Make it with [OpenPair].
type Pair struct{ kept[tls.Certificate] }

// OpenPair reads the files. Each has its own error; a mismatch is the certificate's. With an error the Pair is nil.
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

// Get returns the certificate in force, for [tls.Config]'s GetCertificate.
func (p *Pair) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.inForce.Load(), nil }
