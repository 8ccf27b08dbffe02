package demo

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
)

// Hook is the hook for the ends of the demonstration's tasks. The zero Hook is none.
type Hook struct {
	URL    string
	Secret string // the path of the secret's file

	secret string
}

// defaults returns the teams file's defaults.
func (h Hook) defaults() string {
	if h.URL == "" {
		return picturesKept + "}\n"
	}
	return fmt.Sprintf("%s, hooks: [{id: demo, url: %q, events: [\"task.*\"], secret_file: %q, insecure: true}]}\n", picturesKept, h.URL,
		h.Secret)
}

// MintHook makes a hook with a new secret. The caller writes it to the file.
func MintHook(url, path string) Hook {
	var key [32]byte
	rand.Read(key[:]) // never fails, see its documentation
	return Hook{URL: url, Secret: path, secret: "whsec_" + base64.StdEncoding.EncodeToString(key[:])}
}

// Content returns the content of the secret's file.
func (h Hook) Content() []byte { return []byte(h.secret + "\n") }

// Write prints the secret that verifies the deliveries.
func (h Hook) Write(w io.Writer) error {
	if h.URL == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "# Ends of tasks are delivered to %s, signed with %s\n", h.URL, h.secret)
	return err
}
