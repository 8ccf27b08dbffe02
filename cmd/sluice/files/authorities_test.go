package files

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
)

// Authorities are those of the files as they are now; a broken file keeps the ones before, and one that is removed takes its own along.
func TestAuthoritiesAreReadAgain(t *testing.T) {
	folder, key := t.TempDir(), filepath.Join(t.TempDir(), "key")
	first, second := filepath.Join(folder, "first.pem"), filepath.Join(folder, "second")
	one, _ := written(t, first, key, 1)
	put(t, filepath.Join(folder, "README"), "PEM files of the house")
	if err := os.Mkdir(filepath.Join(folder, "..data"), 0o700); err != nil {
		t.Fatal(err)
	}
	a, err := OpenAuthorities([]string{"SSL_CERT_FILE=" + first, "SSL_CERT_DIR=" + folder})
	if err != nil {
		t.Fatal(err)
	}
	leaf := func(text []byte) *x509.Certificate {
		block, _ := pem.Decode(text)
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	trusts := func(cert *x509.Certificate) bool {
		_, err := cert.Verify(x509.VerifyOptions{Roots: a.Roots()})
		return err == nil
	}
	look := func() (told int) {
		before := a.look(nil, func(error) { told++ })
		a.look(before, func(error) { told++ })
		return told
	}
	if !trusts(leaf(one)) || look() > 0 {
		t.Error("the first is not in force, or the same content is told of")
	}
	two, _ := written(t, second, key, 2)
	if trusts(leaf(two)) || look() != 1 || !trusts(leaf(two)) || !trusts(leaf(one)) {
		t.Error("the second is not in force once it is seen twice")
	}
	for about, content := range map[string]string{
		"rubbish": "no certificate", "nothing": "", "a part": string(two[:len(two)-40]),
		"another thing": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" + string(two),
	} {
		put(t, second, content)
		if look() != 1 || a.State() == nil || !trusts(leaf(two)) {
			t.Errorf("%s: %v", about, a.State())
		}
		put(t, second, string(two))
		if look() > 0 || a.State() != nil {
			t.Errorf("after %s: %v", about, a.State())
		}
	}
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	if look() != 1 || trusts(leaf(two)) || !trusts(leaf(one)) {
		t.Error("a removed authority is in force")
	}
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	if look() != 1 || a.State() == nil || !trusts(leaf(one)) {
		t.Errorf("without SSL_CERT_FILE's file: %v", a.State())
	}
}

// Without the variables the authorities are the system's; with one of them the others are the system's; faults at the start let the rest
// count.
func TestAuthoritiesAtTheStart(t *testing.T) {
	if a, err := OpenAuthorities([]string{"SSL_CERT_FILE="}); a != nil || err != nil || a.Roots() != nil {
		t.Errorf("%v, %v", a, err)
	}
	folder := t.TempDir()
	good, _ := written(t, filepath.Join(folder, "good.pem"), filepath.Join(t.TempDir(), "key"), 1)
	put(t, filepath.Join(folder, "bad.pem"), string(good[:100]))
	a, err := OpenAuthorities([]string{"SSL_CERT_DIR=" + folder})
	if err == nil || a.Roots() == nil {
		t.Fatalf("%v", err)
	}
	public := publicOf(true, false)
	if a.Roots().Equal(public) {
		t.Error("the good file does not count")
	}
	if err := os.Remove(filepath.Join(folder, "bad.pem")); err != nil {
		t.Fatal(err)
	}
	before := a.look(nil, nil)
	a.look(before, func(err error) { t.Log(err) })
	public.AppendCertsFromPEM(good)
	if !a.Roots().Equal(public) {
		t.Error("the authorities are not the public ones and the named")
	}
}
