// Package telemetry tells what requests did: one line in the log for each, metrics, and spans.
//
// It is for observing. It is not for deciding: nothing here refuses, delays or changes a request or an answer, and no
// other package has to wait for it. It knows neither teams' limits nor tasks' claims.
//
// It promises that a Record is written once, that a slow or blocked output never delays a request (records over the
// bound are dropped and counted), and that what it writes contains no prompt, body, key or query string.
package telemetry
