package files

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"path/filepath"
	"testing"
	"time"
)

// written writes a certificate of a serial number with another behind it, and its key, and returns both texts.
func written(t *testing.T, certificate, key string, serial int64) (chain, private []byte) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{serial, 1000} {
		template := &x509.Certificate{SerialNumber: big.NewInt(n), NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	der, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	private = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	put(t, certificate, string(chain))
	put(t, key, string(private))
	return chain, private
}

// A pair counts once it is whole: neither a certificate beside the key before, nor a chain of which a part is written.
func TestAPairCountsOnceItIsWhole(t *testing.T) {
	certificate, key := filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")
	written(t, certificate, key, 1)
	p, ofCertificate, ofKey := OpenPair(certificate, key)
	if ofCertificate != nil || ofKey != nil {
		t.Fatal(ofCertificate, ofKey)
	}
	var before contents
	look := func(serial int64, links int) {
		t.Helper()
		before = p.look(before, func(err error) { t.Log(err) })
		leaf, err := x509.ParseCertificate(p.inForce.Load().Certificate[0])
		if got := len(p.inForce.Load().Certificate); err != nil || leaf.SerialNumber.Int64() != serial || got != links {
			t.Errorf("serial %v, %d links, want %d and %d: %v", leaf.SerialNumber, got, serial, links, err)
		}
	}
	look(1, 2)
	chain, private := written(t, certificate, key, 2)
	first, _ := pem.Decode(chain)
	part := pem.EncodeToMemory(first)
	put(t, certificate, string(part)) // and the key of it
	look(1, 2)
	put(t, certificate, string(chain))
	look(1, 2)
	look(2, 2)
	written(t, certificate, key, 3)
	put(t, key, string(private)) // the one before
	look(2, 2)
	look(2, 2)
	if p.State() == nil {
		t.Error("a certificate that does not fit its key is not told of")
	}
}
