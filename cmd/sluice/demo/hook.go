package demo

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
)

// Hook is where the ends of the demonstration's tasks are announced. The zero Hook is nowhere.
type Hook struct {
	URL    string
	Secret string // the path of a file

	secret string // its content
}

// defaults are those of the teams.
func (h Hook) defaults() string {
	if h.URL == "" {
		return picturesKept + "}\n"
	}
	return fmt.Sprintf("%s, hooks: [{id: demo, url: %q, events: [\"task.*\"], secret_file: %q, insecure: true}]}\n", picturesKept, h.URL, h.Secret)
}

// MintHook makes a hook with a new secret, for the caller to write to the file.
func MintHook(url, path string) Hook {
	var key [32]byte
	rand.Read(key[:]) // never fails, see its documentation
	return Hook{URL: url, Secret: path, secret: "whsec_" + base64.StdEncoding.EncodeToString(key[:])}
}

// Content is what the file of the secret has.
func (h Hook) Content() []byte { return []byte(h.secret + "\n") }

// Write writes what verifies the deliveries.
func (h Hook) Write(w io.Writer) error {
	if h.URL == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "# Ends of tasks are delivered to %s, signed with %s\n", h.URL, h.secret)
	return err
}
