package limit

import (
	"errors"
	"fmt"
)

// ErrAway means that the call was not sent, because Redis is known to be unavailable: nothing was changed there. After any other error
// of a call it is unknown whether the call took effect.
var ErrAway = errors.New("Redis is unavailable") //nolint:staticcheck // a name

// ErrBusy means that the call was not sent, because no connection was free in time, or the caller's deadline had passed: nothing was
// changed in Redis, which may be available.
var ErrBusy = errors.New("Redis was not asked") //nolint:staticcheck // a name

// ErrMoney means that amounts of money in Redis have another number of decimals than those of this process, which must charge nothing.
// Nothing was changed.
var ErrMoney = errors.New("money in Redis has other digits")

// Unread is the message to a client if the accounts of its team could not be read, because of an error.
func Unread(team string, because error) string {
	if errors.Is(because, ErrMoney) {
		return fmt.Sprintf(
			"The limits of team %s cannot be read by this replica, whose currency_digits are not those of the others; send the request again.", team)
	}
	return fmt.Sprintf("The limits of team %s cannot be read at the moment; send the request again.", team)
}

// ErrRows means that the ledger has more rows for the days than the caller takes.
var ErrRows = errors.New("the ledger has more rows than were asked for")

// ErrAmounts means that an amount cannot be counted exactly.
var ErrAmounts = errors.New("an amount is negative or beyond 2^53 - 1")
