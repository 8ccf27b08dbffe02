package notices

import (
	"context"
	"strconv"
	"time"

	"sluice/policy/event"
	"sluice/policy/teams"
	"sluice/telemetry/recent"
)

// expiringDays has how many days before a key expires its owner is warned, in order.
var expiringDays = [...]int{7, 1}

// expiringData is the data of the event [event.KeyExpiring].
type expiringData struct {
	Key     string `json:"key"`
	Expires string `json:"expires"`
	Days    int    `json:"days"`
}

// mostAnnounced bounds the names that a process remembers, some 3 MB. Beyond it the process forgets all, and asks the outbox again.
const mostAnnounced = 30_000

// keys announces which keys expire within days.
func (w *Watch) keys(ctx context.Context) {
	now := w.Now()
	for _, team := range w.Teams().List {
		for i := range team.Keys {
			if k := &team.Keys[i]; !team.Disabled && !k.Disabled && now.Before(k.Expires) {
				w.expiring(ctx, team, k, now)
			}
		}
	}
}

func (w *Watch) expiring(ctx context.Context, team *teams.Team, k *teams.Key, now time.Time) {
	days := 0
	for _, d := range expiringDays {
		if k.Expires.Sub(now) <= time.Duration(d)*24*time.Hour {
			days = d
		}
	}
	if days == 0 {
		return
	}
	// again once it was prolonged
	n := event.Name{Owner: team.ID, Name: "expiring:" + k.ID + ":" + strconv.Itoa(days), Limit: k.Expires.Unix(), Again: true}
	if w.announced[n.Owner+" "+n.Name] == n.Limit {
		return
	}
	d := w.draft(team.ID, event.KeyExpiring, expiringData{k.ID, k.Expires.UTC().Format(time.RFC3339), days})
	if d == nil {
		return
	}
	if _, err := w.Outbox.Once(ctx, n, d); err != nil {
		return
	}
	if len(w.announced) >= mostAnnounced {
		clear(w.announced)
	}
	w.announced[n.Owner+" "+n.Name] = n.Limit
}

const (
	starvedFor = 5 // minutes
	// posted is how long after a minute the counts of all replicas are known: they post each 10 s.
	posted = 2 * recent.Every
)

// starvedData is the data of the event [event.RateStarved].
type starvedData struct {
	Minutes  int    `json:"minutes"`
	Requests int64  `json:"requests"`
	Refused  int64  `json:"refused"`
	Reason   string `json:"reason"` // the most frequent, as in the log's member refusal
}

// starved announces teams that had more than half of their requests refused in each of the last five minutes.
func (w *Watch) starved(ctx context.Context) {
	end := w.Now().Add(-posted).Truncate(time.Minute)
	begin := end.Add(-starvedFor * time.Minute)
	var ids []string
	for _, team := range w.Teams().List {
		if w.listeners(team.ID, event.RateStarved) != nil {
			ids = append(ids, team.ID)
		}
	}
	if ids == nil {
		return
	}
	list, err := w.Minutes(ctx, ids, begin, end)
	if err != nil {
		return
	}
	of := map[string][]recent.Minute{}
	for _, m := range list {
		if !m.At.Before(begin) && m.At.Before(end) {
			of[m.Team] = append(of[m.Team], m)
		}
	}
	for _, id := range ids {
		data, on := starving(of[id])
		was, known := w.turns[id+" starved"]
		if d := w.draft(id, event.RateStarved, data); on && d != nil {
			w.turned(ctx, "starved", true, end, d, id)
		} else if on {
			continue // its listeners have gone meanwhile
		} else if was.on || known && was.asked.IsZero() || !known && len(of[id]) > 0 { // else nothing has changed since it was asked
			w.turned(ctx, "starved", false, end, nil, id)
		}
	}
}

// starving reports whether more than half of the requests were refused in each of five minutes, and sums the minutes up.
func starving(list []recent.Minute) (data starvedData, is bool) {
	var all recent.Counts
	for i := range list {
		if 2*list[i].Refused() <= list[i].Requests {
			return data, false
		}
		all.Add(&list[i].Counts)
	}
	data = starvedData{Minutes: starvedFor, Requests: all.Requests, Refused: all.Refused()}
	for reason, n := range all.Refusals {
		if most := all.Refusals[data.Reason]; n > most || n == most && reason < data.Reason {
			data.Reason = reason
		}
	}
	return data, len(list) == starvedFor
}
