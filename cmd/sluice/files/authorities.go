package files

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Where Go looks for the system's authorities on Linux: the first of these files, and all in these folders.
var (
	publicFiles = []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
	}
	publicFolders = []string{"/etc/ssl/certs", "/etc/pki/tls/certs"}
)

var (
	errCertificate   = errors.New("a file holds what is no certificate, or a part of one")
	errNoCertificate = errors.New("a file has no certificate")
)

// Authorities verify the certificates of other servers. They are the files in SSL_CERT_FILE and SSL_CERT_DIR, read again when they
// change, and the system's in place of one that is not set. crypto/x509 would read the same files, but only once. Make it with
// [OpenAuthorities]; nil means the system's.
type Authorities struct{ kept[x509.CertPool] }

// OpenAuthorities reads the files that the environment names; nil: it names none. After an error the readable ones are in force.
func OpenAuthorities(environ []string) (*Authorities, error) {
	var file string
	var folders []string
	for _, assignment := range environ {
		switch name, value, _ := strings.Cut(assignment, "="); {
		case name == "SSL_CERT_FILE" && value != "":
			file = value
		case name == "SSL_CERT_DIR" && value != "":
			folders = strings.Split(value, ":")
		}
	}
	if file == "" && folders == nil {
		return nil, nil //nolint:nilnil // the system's
	}
	public := publicOf(file == "", folders == nil)
	a := new(Authorities)
	a.read = func() (contents, error) { return readNamed(file, folders) }
	a.made = func(now, before contents) (*x509.CertPool, error) {
		pool := public.Clone()
		for path, text := range now {
			if n, err := certificates(text); err != nil {
				return nil, err
			} else if held, _ := certificates(before[path]); n == 0 && (held > 0 || path == file) {
				return nil, errNoCertificate
			}
			pool.AppendCertsFromPEM(text)
		}
		return pool, nil
	}
	err := a.open()
	if err != nil {
		now, _ := a.read()
		readable := public.Clone()
		for _, text := range now {
			readable.AppendCertsFromPEM(text)
		}
		a.inForce.Store(readable)
	}
	return a, err
}

// Roots returns the authorities in force; nil: the system's.
func (a *Authorities) Roots() *x509.CertPool {
	if a == nil {
		return nil
	}
	return a.inForce.Load()
}

// publicOf returns the system's authorities: those of its file, its folders, or both.
func publicOf(file, folders bool) *x509.CertPool {
	pool := x509.NewCertPool()
	if file {
		for _, path := range publicFiles {
			if text, err := Read(path); err == nil {
				pool.AppendCertsFromPEM(text)
				break
			}
		}
	}
	if folders {
		for _, folder := range publicFolders {
			all, _ := readNamed("", []string{folder})
			for _, text := range all {
				pool.AppendCertsFromPEM(text)
			}
		}
	}
	return pool
}

// readNamed reads a file, if one is given, and the files in folders. It skips anything else in them.
func readNamed(file string, folders []string) (all contents, err error) {
	all = contents{}
	if file != "" {
		if all[file], err = Read(file); err != nil {
			return all, err
		}
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return all, Pathless(err)
		}
		for _, entry := range entries {
			path := filepath.Join(folder, entry.Name())
			text, err := Read(path)
			switch {
			case errors.Is(err, ErrKind), errors.Is(err, fs.ErrNotExist): // a folder, or a link that leads nowhere
			case err != nil:
				return all, err
			default:
				all[path] = text
			}
		}
	}
	return all, nil
}

// certificates counts the certificates in a file. It skips other PEM blocks and other text.
func certificates(text []byte) (n int, err error) {
	begun := bytes.Count(text, []byte("-----BEGIN CERTIFICATE-----"))
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if _, err := x509.ParseCertificate(block.Bytes); block.Type == "CERTIFICATE" && err == nil {
			n++
		}
	}
	if n < begun {
		return n, errCertificate
	}
	return n, nil
}
