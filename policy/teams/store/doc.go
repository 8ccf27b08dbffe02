// Package store keeps the directory and its audit: in Redis, shared by all replicas, or in files of one machine. Both forms
// are a [teams.Store]: a change is written whole, together with its entry, or not at all.
//
// It reports errors and logs nothing. The caller's contexts bound every call of Redis, but no access to files.
package store
