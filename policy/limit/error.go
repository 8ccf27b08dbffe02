package limit

import "errors"

// ErrAway means that the shared state was not asked: it is known to be away. What was to be changed there has not been.
// Any other error of a call leaves open whether it took effect.
var ErrAway = errors.New("the shared state is away")

var errAmounts = errors.New("an amount is negative or beyond 2^53 - 1")
