//go:build !unix

package store

import "os"

// lockFile does nothing on this system: only one process may use the files.
func lockFile(*os.File) error { return nil }
