package limit

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"sluice/policy"
)

// estimatedPart ends the names of ledger fields that hold the part nobody knows for certain.
const estimatedPart = "|estimated"

// rows reads the ledger of one team for some days, in one round trip.
func (r *Redis) rows(ctx context.Context, team string, days []int) ([]Row, error) {
	k := r.keysOf(team)
	pipe := r.client.Pipeline()
	replies := make([]*redis.MapStringStringCmd, len(days))
	for i, day := range days {
		replies[i] = pipe.HGetAll(ctx, k.day(day))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	var rows []Row
	for i, day := range days {
		fields := replies[i].Val()
		if len(fields) > 0 && fields["day"] != strconv.Itoa(day) {
			return nil, errMixed
		}
		rows = append(rows, readLedger(team, fields)...)
	}
	return rows, nil
}

// readLedger reads one day's hash: fields model|endpoint|unit, each maybe once more with its estimated part.
func readLedger(team string, fields map[string]string) []Row {
	day, _ := strconv.Atoi(fields["day"])
	byName := map[string]*Row{}
	for field, value := range fields {
		name, estimated := strings.CutSuffix(field, estimatedPart)
		cut := strings.LastIndexByte(name, '|')
		if cut < 0 {
			continue
		}
		unit, model := unitNamed(name[cut+1:]), name[:cut]
		split := strings.LastIndexByte(model, '|')
		n, err := strconv.ParseInt(value, 10, 64)
		if unit < 0 || split < 0 || err != nil {
			continue
		}
		row := byName[model]
		if row == nil {
			row = &Row{Team: team, Day: day, Model: model[:split], Endpoint: policy.Endpoint(model[split+1:])}
			byName[model] = row
		}
		if estimated {
			row.Estimated[unit] = n
		} else {
			row.Used[unit] = n
		}
	}
	rows := make([]Row, 0, len(byName))
	for _, row := range byName {
		rows = append(rows, *row)
	}
	return rows
}

func unitNamed(word string) int {
	for i, unit := range policy.Units {
		if string(unit) == word {
			return i
		}
	}
	return -1
}

// Look reports how a team stands, and takes nothing.
func (r *Redis) Look(ctx context.Context, team *policy.Team) (Report, error) {
	t := termsOf(team)
	s, err := r.ask(ctx, &Hold{Team: team}, &t, &loan{})
	if err != nil {
		return Report{}, err
	}
	r.own.get(team.ID).know(&s)
	return s.report(&t), nil
}
