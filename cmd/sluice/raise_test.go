package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

// raisable is a teams file with a quota of images that one request uses up.
const raisable = someTeams + "    quotas: {images: {month: 1}}\n"

// imagesOf is the team's standing for images, as its own program sees it.
func (c consoled) imagesOf() (l struct {
	Limit, Left, Base json.Number
	Raises            []struct {
		Amount json.Number
		Reason string
	}
}) {
	c.Helper()
	var usage struct{ Limits []json.RawMessage }
	_, text := c.send("GET", "/sluice/v1/usage", "", "test")
	must(c.T, json.Unmarshal(text, &usage))
	must(c.T, json.Unmarshal(usage.Limits[0], &l))
	return l
}

// A raise is in force on every replica within two seconds, whoever made it, survives their end, and ends on all. The ledger stays.
func TestARaiseOnEveryReplica(t *testing.T) {
	for about, variables := range map[string][]string{"file": nil, "Redis": {"SLUICE_REDIS_URL=" + startRedis(t).url()}} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			variables := append(variables, "SLUICE_TEAMS_FILE="+write(t, raisable))
			a, b := openConsoled(t, variables...), openConsoled(t, variables...)
			image := func() int {
				status, _ := b.send("POST", imageURL, strings.ReplaceAll(imageTask, "%d", "1"), "test", "X-Service-Async")
				return status
			}
			if first, second := image(), image(); first != 200 || second != 429 {
				t.Fatalf("%d and %d before the raise", first, second)
			}
			begun := time.Now()
			var made teams.Raise
			a.ask("POST /teams/search/raises", `{"unit":"images","period":"month","amount":2,"reason":"launch"}`, 201, &made)
			wait(t, "the other replica has it", func() bool { return b.imagesOf().Limit == "3" })
			if took := time.Since(begun); isLong() && took > 2*time.Second {
				t.Errorf("it took %v", took)
			}
			got := b.imagesOf()
			if got.Base != "1" || got.Left != "2" || len(got.Raises) != 1 || got.Raises[0].Amount != "2" || got.Raises[0].Reason != "launch" {
				t.Errorf("the team sees %+v", got)
			}
			if status := image(); status != 200 {
				t.Errorf("%d after the raise", status)
			}
			third := openConsoled(t, variables...) // one that starts
			if got := third.imagesOf(); got.Limit != "3" || about == "Redis" && got.Left != "1" {
				t.Errorf("after a start the team sees %+v", got)
			}
			if about == "Redis" {
				usage := command(t.Context(), servingEnviron(t, "http://127.0.0.1", variables...), "usage")
				want := "\nsearch, images a month: 1 + 2 until " + made.Until.Format(time.RFC3339) + ", launch\n"
				if usage.code != exitClean || !strings.HasSuffix(usage.stdout, want) {
					t.Errorf("%d: %s%s", usage.code, usage.stdout, usage.stderr)
				}
			}
			b.ask("DELETE /teams/search/raises/"+made.ID, "", 204, nil)
			wait(t, "it ends on all", func() bool {
				return a.imagesOf().Limit == "1" && b.imagesOf().Limit == "1" && third.imagesOf().Limit == "1"
			})
			if status := image(); status != 429 {
				t.Errorf("%d after its end", status)
			}
		})
	}
}

// A replica that starts without its Redis has the raises of its copy, and one that is cut off keeps them until they end.
func TestARaiseWithoutItsStore(t *testing.T) {
	w := watchDirectory(t)
	file, err := teams.Parse([]byte(raisable))
	must(t, err)
	made, err := teams.RaiseOrder{Unit: "images", Period: "month", Amount: "500", Reason: "launch"}.Raise("5t8w1z4c7f0h", file.Team("search"),
		time.Now())
	must(t, err)
	must(t, teams.CommitRaise(t.Context(), w.store.Store, teams.Order{Who: "test", Now: time.Now()}, teams.AddRaise{Raise: made}))
	w.copy = t.TempDir() + "/copy.json"
	w.look(t.Context())
	w.store.away = context.DeadlineExceeded
	limits := map[string]int64{}
	for about, watch := range map[string]*directoryWatch{"cut off": w.directoryWatch,
		"started": {store: w.store, copy: w.copy, log: w.directoryWatch.log, now: w.directoryWatch.now}} {
		look := func(file *teams.File) { limits[about] = file.Team("search").Quotas[0].Limit }
		if about == "started" {
			watch.joined = store.NewLive(file, nil, time.Now, look)
			watch.start(t.Context())
		} else {
			watch.joined.SetFile(file, nil, look)
			watch.look(t.Context())
		}
	}
	if diff := cmp.Diff(map[string]int64{"cut off": 501, "started": 501}, limits); diff != "" {
		t.Errorf("the limits:\n%s", diff)
	}
}

// TestTheManualsRaises runs the commands and sends the request of docs/money.md, with the running day's end in place of its moments.
func TestTheManualsRaises(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../docs/money.md")
	must(t, err)
	_, section, _ := strings.Cut(string(manual), "\n## More for a while\n")
	section, _, _ = strings.Cut(section, "\n## ")
	now := time.Now().UTC()
	midnight := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
	section = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:00:00Z`).ReplaceAllString(section, midnight)
	variables := []string{"SLUICE_REDIS_URL=" + startRedis(t).url(),
		"SLUICE_TEAMS_FILE=" + write(t, someTeams+"    quotas: {images: {day: 500}, spend: {month: 5}}\n")}
	c := openConsoled(t, variables...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		person := access.Person{Name: "token", Role: access.Operator}
		c.api.ServeHTTP(w, r.WithContext(access.With(r.Context(), person)))
	}))
	t.Cleanup(server.Close)
	environ := append(servingEnviron(t, "http://127.0.0.1", variables...), "SLUICE_CONSOLE_URL="+server.URL,
		"SLUICE_CONSOLE_TOKEN_FILE="+write(t, scriptToken))
	ran := 0
	for _, block := range regexp.MustCompile("(?s)```(sh|http)\n(.*?)```").FindAllStringSubmatch(section, -1) {
		if block[1] == "http" {
			line, body, _ := strings.Cut(block[2], "\n")
			c.ask(strings.Replace(line, " /api/v1", " ", 1), body, 201, nil)
			ran++
			continue
		}
		for line := range strings.Lines(block[2]) {
			args := regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(strings.TrimPrefix(line, "sluice "), -1)
			for i := range args {
				args[i] = strings.Trim(args[i], `"`)
			}
			if got := command(t.Context(), environ, args...); got.code != exitClean {
				t.Errorf("%s: %s", line, got.text())
			}
			ran++
		}
	}
	wait(t, "all are in force", func() bool { return c.imagesOf().Limit == "1500" })
	shown := regexp.MustCompile(`"limit":1000,…,("base":500,"raises":\[\{"amount":500,"until":"[^"]+","reason":"launch"\})`).
		FindStringSubmatch(section)
	if _, text := c.send("GET", "/sluice/v1/usage", "", "test"); shown == nil || !strings.Contains(string(text), shown[1]) {
		t.Errorf("the manual shows %q, the answer is %s", shown, text)
	}
	if ran != 4 {
		t.Errorf("%d of the manual's examples ran", ran)
	}
}
