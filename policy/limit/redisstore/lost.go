package redisstore

import (
	"context"
	"strconv"
	"strings"
	"time"

	"sluice/policy/limit"
)

// lapse is how long an allowance stays set aside after its lease has ended, as sweep.lua has it.
const lapse = time.Hour

// LostAside is what is set aside for a day at a lost replica.
type LostAside struct {
	Day  int // yyyymmdd
	Of   limit.Stock
	Back time.Time // when it is given back, by Redis's clock
}

// LostAsides returns what is set aside of a team at other replicas that have not renewed it since a moment of Redis's clock.
func (r *Store) LostAsides(ctx context.Context, team string, since time.Time) (list []LostAside, err error) {
	rows, err := r.client.HGetAll(ctx, r.teams.Get(team).aside).Result()
	for field, text := range rows {
		replica, day, _ := strings.Cut(field, ":")
		row, due, renewed, ok := readAside(text)
		if row.Day, _ = strconv.Atoi(day); ok && row.Day > 0 && replica != r.Peer.ID && renewed < since.UnixMicro() {
			row.Back = time.UnixMicro(due).Add(lapse)
			list = append(list, row)
		}
	}
	return list, err
}

// readAside reads an allowance's text: its state, amounts, the end of its lease, and when it was renewed. It reports false for one that
// was charged, and for a replica's last call.
func readAside(text string) (row LostAside, due, renewed int64, ok bool) {
	words := strings.Fields(text)
	if len(words) != len(row.Of)+3 || words[0] == "charged" {
		return row, 0, 0, false
	}
	numbers := make([]int64, len(words)-1)
	for i, word := range words[1:] {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return row, 0, 0, false
		}
		numbers[i] = n
	}
	copy(row.Of[:], numbers)
	return row, numbers[len(row.Of)], numbers[len(row.Of)+1], true
}
