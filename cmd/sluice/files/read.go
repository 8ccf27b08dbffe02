// Package files reads the files that settings name: regular files of a bounded size, and secrets. A [Look] is the content of the files
// that are read again while Sluice serves.
//
// Its errors contain neither a path, which may be a secret in the wrong variable, nor a part of a content.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sluice/gateway/upstream"
	"sluice/policy/strictyaml"
)

// Most bounds the size of a file in bytes, as package strictyaml does: a wrong path may lead to a huge file.
const Most = strictyaml.Most

var (
	// ErrSize is the error of a file that is larger than [Most].
	ErrSize = fmt.Errorf("is larger than %d MiB", Most>>20)
	// ErrKind is the error of a path that does not lead to a regular file.
	ErrKind = errors.New("is not a regular file")

	errEmpty = errors.New("the file is empty")
)

// Secret reads a file that holds nothing but a secret. One trailing line end is dropped: editors and shells add one.
func Secret(path string) (upstream.Secret, error) {
	content, err := Read(path)
	if err != nil {
		return "", err
	}
	return SecretOf(content)
}

// SecretOf returns the secret in a content, as [Secret] does for a file.
func SecretOf(content []byte) (upstream.Secret, error) {
	text := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	if strings.TrimSpace(text) == "" {
		return "", errEmpty
	}
	return upstream.Secret(text), nil
}

// Beside returns a function that reads files with secrets. Their paths are relative to the folder of file.
func Beside(file string) func(path string) (upstream.Secret, error) {
	return func(path string) (upstream.Secret, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(file), path)
		}
		return Secret(path)
	}
}

// Read reads a regular file. It refuses other kinds, which may be endless.
func Read(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a FIFO would wait for a writer
	if err != nil {
		return nil, Pathless(err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, Pathless(err)
	case !info.Mode().IsRegular():
		return nil, ErrKind
	case info.Size() > Most:
		return nil, ErrSize
	}
	return All(file) // it may have grown
}

// All reads a whole input of at most [Most] bytes.
func All(r io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, Most+1))
	switch {
	case err != nil:
		return nil, Pathless(err)
	case len(content) > Most:
		return nil, ErrSize
	}
	return content, nil
}

// IsOpen reports whether every user of this machine can read a file.
func IsOpen(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o004 != 0
}

// Pathless returns an error without the path in it.
func Pathless(err error) error {
	var bad *fs.PathError
	if errors.As(err, &bad) {
		return bad.Err
	}
	return err
}
