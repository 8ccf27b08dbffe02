// Package directory is the model of the directory: the teams that operators change while Sluice runs, in one versioned
// document, and the trail of these changes.
//
// [Apply] makes a new document and an entry of the audit out of a document and a [Change]; [State.Next] chains the entry to the
// one before it. A [Store] writes both in one step, so that no change is without its entry, and [Commit] repeats a change
// that lost a race. [Verify] proves a trail.
//
// Apart from [Commit] everything here is pure: equal input gives equal output, and time is handed in. No document, entry or
// error contains a key, and no entry the hash of one.
package directory
