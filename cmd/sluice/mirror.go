package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/gateway/mirror"
	"sluice/policy/event"
	"sluice/policy/event/outbox"
)

// mirrorCommand is sluice mirror.
type mirrorCommand struct {
	Verify string `required:"" placeholder:"DAY" help:"Compare the tasks that succeeded on a day in UTC, such as 2026-11-26, with the store, and name the pictures that are missing. Needs Redis."`
}

// Run verifies a day. Its error says how many pictures are missing.
func (c mirrorCommand) Run(ctx context.Context, p program) error {
	day, err := time.Parse(time.DateOnly, c.Verify)
	if age := time.Since(day); err != nil || age < 0 || age > event.SuccessesKept {
		return badUsage{fmt.Errorf("--verify: allowed: a day such as 2026-11-26, of the last %d", int(event.SuccessesKept/(24*time.Hour)))}
	}
	conf, err := loadConfiguration(p.environ)
	switch {
	case err != nil:
		return err
	case conf.MirrorURL.String() == "" || conf.RedisURL == "":
		return badInput{errors.New("there is no mirror whose successes replicas share: SLUICE_MIRROR_URL or SLUICE_REDIS_URL is not set")}
	}
	kept, err := conf.openPictures()
	if err != nil {
		return err
	}
	client := openPatient(conf.Settings)
	defer func() { _ = client.Close() }()
	file, _ := conf.withDirectory(ctx, p.stderr)
	v := mirror.Verification{
		Store: kept, Succeeded: outbox.WorksOf(outbox.New(client, event.Kept(conf.EventTTL))).Succeeded,
		Keep: keptFor(file), Now: time.Now(),
	}
	for _, team := range file.List {
		v.Teams = append(v.Teams, team.ID)
	}
	missing, err := v.Run(ctx, p.stdout, day.Format("2006/01/02"))
	if err == nil && missing > 0 {
		err = fmt.Errorf("%d pictures are missing", missing)
	}
	return err
}
