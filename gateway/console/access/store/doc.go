// Package store keeps the console's sessions, logins under way and attempts: in Redis, or in the process's memory.
package store
