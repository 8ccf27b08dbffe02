package console

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"sluice/gateway/console/figures"
	"sluice/policy/unit"
	"sluice/telemetry/recent"
)

// Latency are the percentiles of one kind of duration in a step.
type Latency struct {
	Model    string      `json:"model,omitempty"`
	Endpoint string      `json:"endpoint,omitempty"`
	What     recent.What `json:"what"`
	Start    time.Time   `json:"start"`
	Count    int64       `json:"count"`
	P50      float64     `json:"p50_ms"`
	P95      float64     `json:"p95_ms"`
	P99      float64     `json:"p99_ms"`
}

// latencies lists percentiles of the durations of the service, Sluice and tasks.
func latencies(a *api, c *call) error {
	if !c.who.SeesAll() {
		return errNotAll
	}
	q := figures.LatencyQuery{By: recent.By(c.query.Get("by"))}
	switch q.By {
	case "":
		q.By = recent.ByModel
	case recent.ByModel, recent.ByEndpoint:
	default:
		return invalid("by", "not a dimension", "model or endpoint")
	}
	var err error
	if q.From, q.To, err = c.span(a.Now(), time.Hour); err != nil {
		return err
	}
	if text := c.query.Get("step"); text != "" {
		if q.Step, err = time.ParseDuration(text); err != nil || q.Step <= 0 || q.Step%recent.LatencyStep != 0 {
			return invalid("step", "not such a step", "a multiple of 5m, such as 5m, 1h or 24h")
		}
	}
	rows, err := a.Traffic.Latency(c.r.Context(), c.who, q)
	if err != nil {
		return unread(err)
	}
	list := make([]Latency, len(rows))
	for i := range rows {
		r := &rows[i]
		list[i] = Latency{
			What: r.What, Start: r.Start.UTC(), Count: r.Count, P50: inMilliseconds(r.P50), P95: inMilliseconds(r.P95),
			P99: inMilliseconds(r.P99),
		}
		if q.By == recent.ByModel {
			list[i].Model = r.Of
		} else {
			list[i].Endpoint = r.Of
		}
	}
	return c.write(http.StatusOK, list)
}

// inMilliseconds rounds to microseconds: percentiles are accurate only to 5 %.
func inMilliseconds(d time.Duration) float64 { return math.Round(float64(d)/1000) / 1000 }

// faults lists what is wrong: the lines of the page Now.
func faults(a *api, c *call) error {
	list := a.Traffic.FaultList(c.r.Context(), c.who)
	if list == nil {
		list = []figures.Fault{}
	}
	return c.write(http.StatusOK, list)
}

// NearLimit is a team's nearest limit.
type NearLimit struct {
	Team    string      `json:"team"`         // empty: all teams together
	Limit   string      `json:"limit"`        // as in the headers of a refusal: images-day, requests; concurrent, open_tasks
	Of      string      `json:"of,omitempty"` // the tag's value, or the key, whose limit it is
	Percent int         `json:"percent"`
	Used    json.Number `json:"used"`
	Held    json.Number `json:"held"`
	Most    json.Number `json:"most"` // of a rate its burst
}

// limits lists the nearest limit of each team, nearest first.
func limits(a *api, c *call) error {
	least := 0
	if text := c.query.Get("percent"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return invalid("percent", "not a number", "a whole number of 0 or more")
		}
		least = n
	}
	found, err := a.Traffic.NearList(c.r.Context(), c.who, least)
	if err != nil {
		return unread(err)
	}
	list, m := make([]NearLimit, len(found)), a.Currency().Money
	for i := range found {
		n := found[i].Nearest
		number := func(amount int64) json.Number {
			if n.Unit == unit.NameSpend {
				return json.Number(m.Written(n.Unit, amount))
			}
			return json.Number(strconv.FormatInt(amount, 10))
		}
		list[i] = NearLimit{found[i].ID, n.Name, n.Of, n.Percent, number(n.Used), number(n.Held), number(n.Most())}
	}
	return c.write(http.StatusOK, list)
}
