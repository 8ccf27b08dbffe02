// Package api is the console's interface for programs: /api/v1, JSON over HTTP. routes.go has every route, openapi.json
// describes them; a test holds the two together.
//
// It reads and writes HTTP. What a person may see and change is decided by package registry. The person of a request is in its
// context: without one, every answer is 401.
package api
