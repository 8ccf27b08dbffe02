package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"sluice/gateway"
)

// maxFile bounds every file that is read whole. A path that leads to a device or a log must not fill the memory.
const maxFile = 16 << 20

var errFileSize = errors.New("is larger than 16 MiB")

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

// readFile opens path anew and reads it to its end. The error says why in words and leaves out the path, which may be
// a secret in the wrong variable.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, pathless(err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
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

// worldReadable reports whether anybody on the machine may read the file.
func worldReadable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o004 != 0
}
