package redisstore

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
)

// takenAt is what all teams used and hold on an account at the service, on a date and in its month: by their open holds and the ledger. It
// reads the holds first: what is settled while it reads counts twice, and not never.
func takenAt(ctx context.Context, r *Store, account string, date *limit.Calendar) (all limit.Taken, err error) {
	texts, err := openTexts(ctx, r)
	if err != nil {
		return all, err
	}
	for _, text := range texts {
		if at, day, amounts, ok := readHeld(text); ok && at == account {
			all.Add(date, day, &amounts)
		}
	}
	days := make([]int, date.End[1].AddDate(0, 0, -1).Day())
	for i := range days {
		days[i] = date.Month*100 + i + 1
	}
	rows, err := r.Rows(ctx, limit.Query{Days: days, By: limit.ScopeAccount})
	for i := range rows {
		if rows[i].Account == account {
			all.Add(date, rows[i].Day, &rows[i].Used)
		}
	}
	return all, err
}

// openTexts are the texts of all teams' open holds.
func openTexts(ctx context.Context, r *Store) (texts []string, err error) {
	open := map[*team][]string{}
	err = eachTeam(ctx, r, func(pipe redis.Pipeliner, teams []*team) func() {
		ids := make([]*redis.StringSliceCmd, len(teams))
		for i, t := range teams {
			ids[i] = pipe.ZRange(ctx, t.open, 0, -1)
		}
		return func() {
			for i, t := range teams {
				open[t] = ids[i].Val()
			}
		}
	})
	if err != nil {
		return nil, err
	}
	pipe := r.client.Pipeline()
	var asked []*redis.SliceCmd
	for t, ids := range open {
		for some := range slices.Chunk(ids, openBatch) {
			keys := make([]string, len(some))
			for i, id := range some {
				keys[i] = t.hold + id
			}
			asked = append(asked, pipe.MGet(ctx, keys...))
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	_, err = pipe.Exec(ctx)
	for _, cmd := range asked {
		for _, value := range cmd.Val() {
			if text, is := value.(string); is {
				texts = append(texts, text)
			}
		}
	}
	return texts, err
}

// readHeld reads from a hold's text (holds.lua) its account, its day, and what it holds; ok is false if it holds nothing.
func readHeld(text string) (account string, day int, amounts limit.Amounts, ok bool) {
	words := strings.Fields(text)
	team := 7 + 2*len(amounts)
	if len(words) <= team || words[0] != "held" {
		return "", 0, amounts, false
	}
	day, err := strconv.Atoi(words[4])
	for i := range amounts {
		n, failed := strconv.ParseInt(words[6+i], 10, 64)
		if amounts[i] = n; failed != nil {
			err = failed
		}
	}
	name, _, _ := strings.Cut(words[team], "/")
	_, account, _ = strings.Cut(name, "@")
	return limit.AccountName(account), day, amounts, err == nil
}
