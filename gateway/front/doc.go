// Package front is the client's side of OpenAI's interface over HTTP: it reads forms, and writes in OpenAI's form what the gateway
// answers in the service's. What the two forms mean to each other is in package openai.
//
// It decides nothing about a request, and it writes only what the gateway has answered. An answer that broke off is not ended, so
// that it cannot pass for a whole one.
package front
