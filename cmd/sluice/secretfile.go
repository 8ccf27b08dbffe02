package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"sluice/gateway"
)

// maxFile bounds every file that is read whole: a wrong path may lead to a huge file.
const maxFile = 16 << 20

var (
	errFileSize = errors.New("is larger than 16 MiB")
	errFileKind = errors.New("is not a regular file")
)

// readSecret reads a file that holds nothing but a secret. One line end behind it is dropped: editors and shells add one.
func readSecret(path string) (gateway.Secret, error) {
	content, err := readFile(path)
	if err != nil {
		return "", err
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	if strings.TrimSpace(text) == "" {
		return "", errors.New("the file is empty")
	}
	return gateway.Secret(text), nil
}

// readFile reads a regular file; others may have no end. The error leaves out the path, which may be a secret in the wrong
// variable.
func readFile(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a FIFO would wait for a writer
	if err != nil {
		return nil, pathless(err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, pathless(err)
	case !info.Mode().IsRegular():
		return nil, errFileKind
	case info.Size() > maxFile:
		return nil, errFileSize
	}
	return readAll(file) // it may have grown
}

// readAll reads a whole input of at most maxFile bytes.
func readAll(r io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		return nil, pathless(err)
	case len(content) > maxFile:
		return nil, errFileSize
	}
	return content, nil
}

func pathless(err error) error {
	var bad *fs.PathError
	if errors.As(err, &bad) {
		return bad.Err
	}
	return err
}

// worldReadable reports whether every user of the machine may read the file.
func worldReadable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o004 != 0
}
