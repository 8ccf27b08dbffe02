package failover

import (
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// The memory that a team takes of Redis, in bytes, rounded up from measurements.
const (
	ledgerBytes  = 400 << 10 // four hundred days of its ledger, three models each
	accountBytes = 8 << 10   // its rates, quotas and list of tasks
	minutesBytes = 200 << 10 // two days of its counts by minute
	recentBytes  = 8 << 20   // the last requests of all teams
)

// MemoryFor returns how much of Redis's memory the teams' accounts may take, in bytes of whole MiB, if teams use all that their
// rates allow. Tasks are left out: no rate bounds their number.
func MemoryFor(file *teams.File) (bytes int64) {
	bytes = recentBytes
	for _, team := range file.List {
		bytes += ledgerBytes + accountBytes + minutesBytes
		for _, r := range team.Rates {
			if r.Unit == unit.NameRequests {
				bytes += int64(float64(r.Limit) * redisstore.Remembered.Seconds() / r.Per.Seconds() * redisstore.SettledBytes)
			}
		}
	}
	return (bytes + 1<<20 - 1) >> 20 << 20
}
