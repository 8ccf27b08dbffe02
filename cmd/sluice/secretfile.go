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

// maxFile bounds every file that is read whole. A path that leads to a log must not fill the memory.
const maxFile = 16 << 20

var (
	errFileSize = errors.New("is larger than 16 MiB")
	errFileKind = errors.New("is no regular file")
)

// readSecret reads a file that holds nothing but a secret. One line end after it is not part of it: every editor and
// most shells put one there.
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

// readFile opens path anew and reads it to its end: a regular file, since anything else may have no end. The error says why
// in words and leaves out the path, which may be a secret in the wrong variable.
func readFile(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // to open a FIFO would wait for a writer
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
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, pathless(err)
	case len(content) > maxFile: // it has grown
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

// worldReadable reports whether anybody on the machine may read the file.
func worldReadable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o004 != 0
}
