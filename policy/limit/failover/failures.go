package failover

import (
	"errors"
	"maps"
	"slices"
)

// saidOnce joins the failures of accounts, each text once: many accounts may fail for one reason.
func saidOnce(failed map[string]error) (all error) {
	said := map[string]bool{}
	for _, account := range slices.Sorted(maps.Keys(failed)) {
		if err := failed[account]; !said[err.Error()] {
			said[err.Error()] = true
			all = errors.Join(all, err)
		}
	}
	return all
}
