package limit

import "errors"

// ErrAway means that the shared state was not asked: it is known to be away. What was to be changed there has not been.
// Any other error of a call leaves open whether it took effect.
var ErrAway = errors.New("the shared state is away")

// ErrRows means that the ledger has more rows for the days than the caller takes.
var ErrRows = errors.New("the ledger has more rows than were asked for")

var ErrAmounts = errors.New("an amount is negative or beyond 2^53 - 1")
