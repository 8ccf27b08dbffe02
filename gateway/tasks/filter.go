package tasks

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/cache"
	"sluice/policy"
)

// listTime is the form of start_time and end_time in the query.
const listTime = "20060102150405"

// ReadFilter reads which tasks a list shows from its query. The error says which parameter is wrong, and what it may be.
func ReadFilter(q url.Values, zone *time.Location) (cache.Filter, error) {
	f := cache.Filter{Task: q.Get("task_id"), Model: q.Get("model_name"), Status: cache.Status(q.Get("status"))}
	err := errors.Join(
		readNumber(q, "page_no", &f.Page),
		readNumber(q, "page_size", &f.Size),
		readListTime(q, "start_time", zone, &f.From),
		readListTime(q, "end_time", zone, &f.To),
	)
	return f, err
}

func readNumber(q url.Values, name string, to *int) error {
	v := q.Get(name)
	if v == "" {
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1<<30 {
		return fmt.Errorf("%s: given %s, allowed a number from 1 to 2^30", name, policy.Brief(v))
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
		return fmt.Errorf("%s: given %s, allowed a time as YYYYMMDDhhmmss", name, policy.Brief(v))
	}
	*to = t
	return nil
}

// LongestID is how many bytes a task's id may have.
const LongestID = 256

// IsID reports whether id has the form of a task id: 1 to 256 of A-Za-z0-9._~-, which need no escape in a path. The
// segments "." and ".." are not ids.
func IsID(id string) bool {
	if id == "" || len(id) > LongestID || id == "." || id == ".." {
		return false
	}
	for i := range len(id) {
		switch b := id[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '.', b == '_', b == '~', b == '-':
		default:
			return false
		}
	}
	return true
}

// Result answers with the picture of a team's task, counted from 1. If none is kept, the error is ErrAbsent of package store. With any
// error it has written nothing.
type Result func(w http.ResponseWriter, r *http.Request, team, task string, picture int) error

// ReadResult reads {id}/results/{n}, the end of a path: a task's id and the number of one of its pictures, from 1 to 999.
func ReadResult(path string) (id string, n int, ok bool) {
	id, of, _ := strings.Cut(path, "/")
	number, ok := strings.CutPrefix(of, "results/")
	for i := range len(number) {
		if number[i] < '0' || number[i] > '9' || i == 0 && number[i] == '0' || i == 3 {
			return "", 0, false
		}
		n = 10*n + int(number[i]-'0')
	}
	return id, n, ok && n > 0 && IsID(id)
}
