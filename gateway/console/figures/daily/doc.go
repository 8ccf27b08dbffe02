// Package daily keeps what all teams used on days that are over, added up by team, model, endpoint or tag: a page of the console reads
// these sums instead of the ledger, which has a hash for each team and day.
//
// # Keys
//
//	sl1:days:<yyyymmdd>   hash    401 days    team, model, endpoint, tag: a sum, see [Sum]
//	sl1:days:lead         string  10 s        the process that makes sums
//
// It promises nothing about sums being true: whoever keeps one says which version of the day's ledger it is of.
package daily
