//go:build unix

package files

import "syscall"

// Allowed returns how many files the process may have open.
func Allowed() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return uint64(limit.Cur) //nolint:unconvert // signed on FreeBSD
}
