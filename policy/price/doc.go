// Package price computes what the service bills for a request: by kinds of tokens, by the length of the request, by
// the size of a picture, and by the day.
//
// It is pure. It reads no file and no answer: package teams fills a Price from the teams file, the gateway fills a
// Usage from the answer.
//
// It promises that every amount is an integer that can be counted exactly, that parts never exceed their whole, and
// that tokens whose kind a usage does not name are billed as the parent kind.
package price
