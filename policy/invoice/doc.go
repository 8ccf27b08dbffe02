// Package invoice compares the service's bill with the ledger: by day, model and kind.
//
// It reads CSV as a stream, by a map of its columns, and keeps only sums. It changes nothing, knows no Redis, and
// writes no report: gateway/admin does.
//
// It promises that every line of the bill is in a sum, is left out by the map, or is a fault with its line and column.
package invoice
