package redisstore

import (
	"strconv"
	"time"

	"sluice/policy/limit"
)

// How values are written for the scripts.

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// appendNumbers writes amounts for the scripts.
func appendNumbers(b []byte, list []int64) []byte {
	for i, n := range list {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return b
}

// appendHold adds the part of a hold's text behind its month: what it holds and was charged, id, team, entry of the ledger.
func appendHold(b []byte, h *limit.Held) []byte {
	b = appendNumbers(append(b, ' '), h.Amounts[:])
	b = appendNumbers(append(b, ' '), make([]int64, len(h.Amounts)))
	b = append(append(b, ' '), h.ID...)
	b = append(append(b, ' '), h.Team...)
	b = append(append(b, ' '), h.Model...)
	b = append(append(b, '|'), h.Endpoint...)
	if h.Tag != "" {
		b = append(append(b, '#'), h.Tag...)
	}
	return b
}

// heldText is an open hold's text, if it was taken from those rates.
func heldText(h *limit.Held, rates limit.RateSet) string {
	return string(appendHeldText(make([]byte, 0, 192), h, rates))
}

func appendHeldText(b []byte, h *limit.Held, rates limit.RateSet) []byte {
	b = append(b, "held 0 "...)
	b = strconv.AppendInt(b, int64(flag(h.Task)), 10)
	for _, n := range [...]int{int(rates), h.Day, h.Month} {
		b = strconv.AppendInt(append(b, ' '), int64(n), 10)
	}
	return appendHold(b, h)
}

// appendHoldText adds the part of a hold's text behind its month.
func appendHoldText(b []byte, h *limit.Hold) []byte {
	return appendHold(b, &limit.Held{ID: h.ID, Team: h.Team.ID, Model: h.Model, Endpoint: h.Endpoint, Tag: h.AsTag(), Amounts: h.Amounts})
}
