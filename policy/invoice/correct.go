package invoice

import (
	"maps"
	"math/big"
	"slices"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

// Correction is what a team's use would have to change by.
type Correction struct {
	Team  string
	Unit  unit.Name
	Delta int64
}

// Corrections would make the ledger's sums equal to the bill's. The bill knows no teams: a difference is divided in proportion to what
// is estimated of each team's use, or to all of it if nothing is.
func (r *Report) Corrections(ledger []Use) (all []Correction) {
	units := []int{limit.Tokens, limit.Images, limit.Spend}
	if !r.Counted {
		units = units[2:]
	}
	for _, u := range units {
		used, estimated := map[string]int64{}, map[string]int64{}
		for i := range ledger {
			used[ledger[i].Team] += max(ledger[i].Used[u], 0)
			estimated[ledger[i].Team] += max(ledger[i].Estimated[u], 0)
		}
		if total(estimated) > 0 {
			used = estimated
		}
		all = append(all, divide(r.Bill[u]-r.Ledger[u], unit.Names[u], used)...)
	}
	return all
}

// divide divides a difference by weights, without the parts that are 0. The last team has what rounding leaves.
func divide(difference int64, of unit.Name, weights map[string]int64) (parts []Correction) {
	sum, left := big.NewInt(total(weights)), difference
	teams := slices.DeleteFunc(slices.Sorted(maps.Keys(weights)), func(team string) bool { return weights[team] == 0 })
	for i, team := range teams {
		n := left
		if i < len(teams)-1 {
			share := new(big.Int).Mul(big.NewInt(difference), big.NewInt(weights[team]))
			n = share.Quo(share, sum).Int64()
		}
		if left -= n; n != 0 {
			parts = append(parts, Correction{team, of, n})
		}
	}
	return parts
}

func total(weights map[string]int64) (sum int64) {
	for _, n := range weights {
		sum += n
	}
	return sum
}
