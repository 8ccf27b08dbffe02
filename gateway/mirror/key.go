package mirror

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sluice/policy/event"
)

// dayForm is a day in keys; see [event.Work].
const dayForm = "2006/01/02"

// endings has the endings of keys by media type, for all types that are stored. Browsers run none of them.
var endings = map[string]string{"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif", "image/bmp": "bmp"}

// keyOf is the key of a task's picture, counted from 0: <team>/<yyyy>/<mm>/<dd>/<task>/<n>.<ext>.
func keyOf(w *event.Work, picture int, ext string) string {
	return fmt.Sprintf("%s%d.%s", below(w.Team, w.Day, w.Task), picture+1, ext)
}

func below(team, day, task string) string { return team + "/" + day + "/" + task + "/" }

// dayKey is the key of an object that says on which day a task ended. It sorts after all days.
func dayKey(team, task string) string { return team + "/tasks/" + task }

var day = regexp.MustCompile(`^[0-9]{4}/[0-9]{2}/[0-9]{2}$`)

// pictureOf reads the key of a team's picture.
func pictureOf(key string) (day, task string, n int, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 6 {
		return "", "", 0, false
	}
	n, err := strconv.Atoi(strings.TrimSuffix(parts[5], path.Ext(parts[5])))
	return strings.Join(parts[1:4], "/"), parts[4], n, err == nil && n > 0
}

// firstKept is the prefix of the oldest pictures that a team keeps: those of a day are kept until the last of them is old enough.
func firstKept(team string, keep time.Duration, now time.Time) string {
	return team + "/" + now.Add(-keep).UTC().Format(dayForm) + "/"
}
