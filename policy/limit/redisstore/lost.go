package redisstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sluice/policy/limit"
)

// lapse is how long an allowance stays set aside after its lease has ended, as sweep.lua has it.
const lapse = time.Hour

// LostAside is what is set aside for a day at a replica that is not heard from.
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
		var state string
		var row LostAside
		var due, renewed int64
		of := &row.Of
		if _, err := fmt.Sscan(text, &state, &of[0], &of[1], &of[2], &of[3], &of[4], &due, &renewed); err != nil { // a replica's last call
			continue
		}
		if _, err := fmt.Sscan(day, &row.Day); err != nil || replica == r.Peer.ID || state == "charged" || renewed >= since.UnixMicro() {
			continue
		}
		row.Back = time.UnixMicro(due).Add(lapse)
		list = append(list, row)
	}
	return list, err
}
