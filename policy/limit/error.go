package limit

import "errors"

// ErrAway means that Redis was not asked, because it is known to be away: nothing was changed there. After any other error of a
// call it is not known whether the call took effect.
var ErrAway = errors.New("Redis is unavailable") //nolint:staticcheck // a name

// ErrBusy means that Redis was not asked, because no connection was free for a while, or the caller's time was over: nothing was changed
// there, and it says nothing of Redis.
var ErrBusy = errors.New("Redis was not asked") //nolint:staticcheck // a name

// ErrRows means that the ledger has more rows for the days than the caller takes.
var ErrRows = errors.New("the ledger has more rows than were asked for")

// ErrAmounts means that an amount cannot be counted exactly.
var ErrAmounts = errors.New("an amount is negative or beyond 2^53 - 1")
