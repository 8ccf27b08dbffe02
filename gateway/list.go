package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"sluice/cache"
	"sluice/gateway/tasks"
)

// list answers GET tasks with the team's own tasks: the service's list has those of every team.
func (p *polls) list(w *reply, r *http.Request, s *requestState) error {
	filter, err := readFilter(r.URL.Query(), p.config.TaskZone)
	if err != nil {
		return err
	}
	list, total, err := p.tasks.List(r.Context(), s.Team, filter)
	if err != nil {
		return refuse(refuseClaim).say("The team's tasks cannot be read at the moment; send the request again.").because(err).retry(time.Second)
	}
	return answer{status: http.StatusOK, header: jsonHeader(), body: tasks.ListBody(list, total, filter, s.ID)}.write(w)
}

// listTime is the form of start_time and end_time in the query.
const listTime = "20060102150405"

func readFilter(q url.Values, zone *time.Location) (cache.Filter, error) {
	f := cache.Filter{Task: q.Get("task_id"), Model: q.Get("model_name"), Status: cache.Status(q.Get("status"))}
	err := errors.Join(
		readNumber(q, "page_no", &f.Page),
		readNumber(q, "page_size", &f.Size),
		readListTime(q, "start_time", zone, &f.From),
		readListTime(q, "end_time", zone, &f.To),
	)
	if err != nil {
		return f, refuse(refuseRules).say("%s", err.Error())
	}
	return f, nil
}

func readNumber(q url.Values, name string, to *int) error {
	v := q.Get(name)
	if v == "" {
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1<<30 {
		return fmt.Errorf("%s: given %s, allowed a number from 1 to 2^30", name, brief(v))
	}
	*to = n
	return nil
}

func readListTime(q url.Values, name string, zone *time.Location, to *time.Time) error {
	v := q.Get(name)
	if v == "" {
		return nil
	}
	t, err := time.ParseInLocation(listTime, v, zone)
	if err != nil {
		return fmt.Errorf("%s: given %s, allowed a time as YYYYMMDDhhmmss", name, brief(v))
	}
	*to = t
	return nil
}
