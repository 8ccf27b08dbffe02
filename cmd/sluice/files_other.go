//go:build !unix

package main

// filesAllowed is how many files the process may have open; this platform has no such limit.
func filesAllowed() uint64 { return 1 << 20 }
