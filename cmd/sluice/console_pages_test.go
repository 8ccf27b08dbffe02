package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// pagedTeams have prices, so that there is money.
const pagedTeams = someTeams + `currency: CNY
prices:
  - {model: "*", image: 0.20, input_per_million: 800, output_per_million: 2000}
`

var (
	theOperator = access.Person{Name: "op", Role: access.Operator}
	theViewer   = access.Person{Name: "v", Role: access.Viewer}
	ofMaps      = access.Person{Name: "m", Role: access.Member, Teams: []string{"maps"}}
)

// visit asks for a page as a person, or sends a form.
func (c consoled) visit(p access.Person, path string, form url.Values) (status int, body string) {
	c.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r := httptest.NewRequestWithContext(access.With(c.Context(), p), method, path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	c.pages.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// brokenText breaks a rule whose mode is warn and one whose mode is refuse.
const brokenText = `{"model":"llm-plus","input":{"prompt":"A mill"},"parameters":{"top_k":101,"top_p":7}}`

// mapped is team maps with a key, a tagged text, a task, and a request of another team.
func (c consoled) mapped() (key teams.NewKey, task string) {
	c.Helper()
	c.ask("POST /teams", `{"id":"maps","tag_key":"project","self_service":true}`, 201, nil)
	c.ask("POST /teams/maps/keys", `{"note":"the indexer"}`, 201, &key)
	wait(c.T, "the key works", func() bool {
		status, _ := c.send("POST", textURL, demoText, key.Key, "Sluice-Tag: project=alpha")
		return status == 200
	})
	_, text := c.send("POST", imageURL, fmt.Sprintf(imageTask, 1), key.Key, "X-Service-Async")
	match := regexp.MustCompile(`"task_id":"([^"]+)"`).FindSubmatch(text)
	if match == nil {
		c.Fatalf("%s", text)
	}
	c.send("POST", textURL, demoText, "test")
	c.send("POST", textURL, brokenText, "test")
	c.send("POST", textURL, demoText, "no such key")
	wait(c.T, "it is charged", func() bool { return c.used("maps", "tag")[0] != "0" && c.used("search", "day")[0] != "0" })
	must(c.T, c.process.kept.collector.Post(c.Context()))
	return key, string(match[1])
}

// used is a team's tokens and spend by the interface for programs.
func (c consoled) used(team, by string) [2]string {
	var usage struct {
		Data []struct{ Used map[string]json.Number }
	}
	c.ask("GET /teams/"+team+"/usage?by="+by, "", 200, &usage)
	sum := [2]*big.Rat{new(big.Rat), new(big.Rat)}
	for _, row := range usage.Data {
		for i, unit := range []string{"tokens", "spend"} {
			sum[i].Add(sum[i], rational(row.Used[unit].String()))
		}
	}
	return [2]string{decimal(sum[0]), decimal(sum[1])}
}

func rational(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return big.NewRat(-1, 1)
	}
	return r
}

func decimal(r *big.Rat) string {
	return strings.TrimSuffix(strings.TrimRight(r.FloatString(9), "0"), ".")
}

// csvSum adds up a column of CSV, of the rows that are wanted.
func csvSum(t *testing.T, text, column string, wanted func(row map[string]string) bool) string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("%v: %s", err, text)
	}
	sum := new(big.Rat)
	for _, cells := range rows[1:] {
		row := map[string]string{}
		for i, name := range rows[0] {
			row[name] = cells[i]
		}
		if wanted(row) {
			sum.Add(sum, rational(row[column]))
		}
	}
	return decimal(sum)
}

// whole checks all pages of an operator.
func whole(task string) []string {
	return []string{
		"/now", "/now?span=day", "/teams", "/new-team", "/teams/maps", "/teams/maps/edit", "/teams/search", "/tasks", "/tasks?team=maps",
		"/teams/maps/tasks/" + task,
		"/requests", "/requests?team=maps", "/requests?refusal=any", "/money", "/money?by=model", "/money?by=day", "/money?by=endpoint",
		"/money?by=tag", "/money?team=maps&by=tag",
		"/refusals", "/refusals?by=model&span=day", "/latency", "/latency?by=endpoint&span=day", "/search?q=map",
		"/money.csv", "/focus.csv", "/rules", "/audit", "/audit?verify=1", "/config",
	}
}

var changing = regexp.MustCompile(`<form[^>]* method="post" action="([^"]+)"`)

func TestPagesOfAProcess(t *testing.T) {
	for about, variables := range map[string][]string{"memory": nil,
		"Redis": {"SLUICE_REDIS_URL=" + startRedis(t).url(), "SLUICE_REDIS_TIMEOUT=5s"}} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			c := openConsoled(t, append([]string{"SLUICE_TEAMS_FILE=" + write(t, pagedTeams)}, variables...)...)
			key, task := c.mapped()
			c.everyPage(key, task)
			c.programs(task)
			c.memberAlone(task)
			c.brokenRules()
			c.equalTotals(key.Key)
		})
	}
}

// everyPage opens all pages, and the requests that they list: none has a secret, and a viewer changes nothing.
func (c consoled) everyPage(key teams.NewKey, task string) {
	c.Helper()
	paths := whole(task)
	_, requests := c.visit(theOperator, "/requests", nil)
	links := regexp.MustCompile(`href="(/requests/[^"]+)"`).FindAllStringSubmatch(requests, -1)
	if len(links) < 4 {
		c.Errorf("%d requests", len(links))
	}
	for _, link := range links {
		paths = append(paths, link[1])
	}
	for _, path := range paths {
		var status int
		var body string
		wait(c.T, path+" has its sums", func() bool { // a busy machine takes longer to make them than a page waits
			status, body = c.visit(theOperator, path, nil)
			return status != http.StatusServiceUnavailable || !strings.Contains(body, "added up")
		})
		if status != http.StatusOK {
			c.Errorf("%s: %d", path, status)
		}
		for _, secret := range []string{key.Key, key.Key[len(key.Key)-20:], testsDigest, "sk-upstream", "What is a sluice", "no such key"} {
			if strings.Contains(body, secret) {
				c.Errorf("%s has %s", path, secret)
			}
		}
		_, body = c.visit(theViewer, path, nil)
		for _, form := range changing.FindAllStringSubmatch(body, -1) {
			if form[1] != "/logout" {
				c.Errorf("a viewer may change by %s: %s", path, form[1])
			}
		}
	}
	if _, body := c.visit(theOperator, "/audit?verify=1", nil); !strings.Contains(body, "key.add") || strings.Contains(body, "missing") {
		c.Errorf("the audit: %s", body)
	}
}

// programs reads tasks and requests by the interface for programs, in pages.
func (c consoled) programs(task string) {
	c.Helper()
	var list struct {
		Data []struct{ ID, State, Team string }
		Next *string
	}
	if c.ask("GET /teams/maps/tasks", "", 200, &list); len(list.Data) != 1 || list.Data[0].ID != task || list.Data[0].State == "" {
		c.Errorf("tasks: %+v", list)
	}
	c.ask("GET /teams/maps/tasks?cursor=eA", "", 400, nil)
	seen := map[string]bool{}
	for path := "GET /requests?team=maps&limit=1"; path != ""; {
		list.Next = nil
		c.ask(path, "", 200, &list)
		for _, r := range list.Data {
			seen[r.ID] = r.Team == "maps"
		}
		if path = ""; list.Next != nil {
			path = "GET /requests?team=maps&limit=1&cursor=" + *list.Next
		}
	}
	if len(seen) < 2 || !slices.Equal(slices.Compact(slices.Collect(maps.Values(seen))), []bool{true}) {
		c.Errorf("requests: %v", seen)
	}
	c.ask("GET /requests?cursor=eA", "", 400, nil)
}

// memberAlone visits as a member of maps: on every path a foreign team gets the same answer as an unknown one.
func (c consoled) memberAlone(task string) {
	c.Helper()
	_, requests := c.visit(theOperator, "/requests?team=search", nil)
	foreign := regexp.MustCompile(`href="(/requests/[^"]+)"`).FindStringSubmatch(requests)
	for path, want := range map[string]int{
		"/now": 200, "/teams": 200, "/teams/maps": 200, "/tasks": 200, "/requests": 200, "/money": 200, "/money?by=tag": 200, "/rules": 200,
		"/teams/maps/tasks/" + task: 200,
		"/teams/search":             404, "/teams/search/edit": 404, "/teams/search/tasks/" + task: 404, "/tasks?team=search": 404,
		"/requests?team=search": 404,
		"/money?team=search":    404, "/money.csv?team=search": 404, "/focus.csv": 200, "/focus.csv?team=search": 404, foreign[1]: 404,
		"/audit": 403, "/config": 403,
	} {
		status, body := c.visit(ofMaps, path, nil)
		if status != want || strings.Contains(body, "/teams/search\"") {
			c.Errorf("a member, %s: %d, want %d", path, status, want)
		}
		if _, none := c.visit(ofMaps, strings.ReplaceAll(path, "search", "nothing"), nil); want == 404 && path != foreign[1] &&
			strings.ReplaceAll(body, "search", "nothing") != strings.ReplaceAll(none, "search", "nothing") { // every page has a search
			c.Errorf("%s differs for a team that there is not", path)
		}
	}
	for _, path := range []string{"/teams/search/keys", "/teams/search/keys/7f3k9q2m4x1c/remove", "/teams/nothing/keys"} {
		if status, _ := c.visit(ofMaps, path, url.Values{"note": {"x"}}); status != http.StatusNotFound {
			c.Errorf("a member sends %s: %d", path, status)
		}
	}
}

// brokenRules checks the rules that team search's request broke: a member of maps must not see them.
func (c consoled) brokenRules() {
	c.Helper()
	const none, some = "No request broke a rule in the last 24 hours", "broke 2 rules in the last 24 hours: 1 warning, 1 refusal of "
	for _, tt := range []struct {
		p          access.Person
		has, lacks string
	}{{theOperator, some, none}, {theViewer, some, none}, {ofMaps, none, some}} {
		if _, body := c.visit(tt.p, "/rules?span=day", nil); !strings.Contains(body, tt.has) || strings.Contains(body, tt.lacks) {
			c.Errorf("%s: the rules have not %q alone: %.2000s", tt.p.Name, tt.has, body)
		}
	}
}

// equalTotals compares Money, the interface for programs, sluice usage, and what the team itself sees.
func (c consoled) equalTotals(key string) {
	c.Helper()
	want, day := c.used("maps", "day"), time.Now().UTC().Format(time.DateOnly)
	_, money := c.visit(theOperator, "/money.csv?by=day&team=maps", nil)
	_, all := c.visit(theOperator, "/money.csv?by=team", nil)
	_, tags := c.visit(ofMaps, "/money.csv?by=tag", nil)
	environ := []string{"SLUICE_ADMIN_LISTEN=" + c.process.listeners.admin.Addr().String()}
	if c.process.kept.redis != nil {
		environ = append(environ, "SLUICE_REDIS_URL="+c.process.RedisURL.Reveal())
	}
	usage := command(c.Context(), environ, "usage", "--csv").stdout
	c.equalBills(environ)
	_, own := c.send("GET", "/sluice/v1/usage?from="+day+"&to="+day, "", key)
	var told struct {
		Ledger []struct {
			Unit string
			Used json.Number
		}
	}
	must(c.T, json.Unmarshal(own, &told))
	for i, unit := range []string{"tokens", "spend"} {
		sum := new(big.Rat)
		for _, row := range told.Ledger {
			if row.Unit == unit {
				sum.Add(sum, rational(row.Used.String()))
			}
		}
		any := func(map[string]string) bool { return true }
		for about, got := range map[string]string{
			"Money by day": csvSum(c.T, money, unit, any), "Money by tag": csvSum(c.T, tags, unit, any), "/sluice/v1/usage": decimal(sum),
			"Money by team": csvSum(c.T, all, unit, func(row map[string]string) bool { return row["team"] == "maps" }),
			"sluice usage":  csvSum(c.T, usage, "used", func(row map[string]string) bool { return row["team"] == "maps" && row["unit"] == unit }),
		} {
			if got != want[i] || got == "0" {
				c.Errorf("%s: %s %s, want %s", about, got, unit, want[i])
			}
		}
	}
}

// equalBills compares the bills of Money with those of sluice usage.
func (c consoled) equalBills(environ []string) {
	c.Helper()
	today := time.Now().UTC()
	first := today.AddDate(0, 0, 1-today.Day()).Format(time.DateOnly)
	environ = append(environ, "SLUICE_TEAMS_FILE="+c.process.TeamsFile)
	for _, tt := range []struct {
		p    access.Person
		path string
		args []string
	}{
		{theOperator, "/focus.csv", nil}, {theViewer, "/focus.csv?team=search", []string{"--team", "search"}},
		{ofMaps, "/focus.csv", []string{"--team", "maps"}},
	} {
		want := command(c.Context(), environ, append([]string{"usage", "--focus", "--from", first}, tt.args...)...).stdout
		if _, got := c.visit(tt.p, tt.path, nil); got != want || strings.Count(got, "\n") < 2 {
			c.Errorf("%s of %s:\n%s\nwant\n%s", tt.path, tt.p.Name, got, want)
		}
	}
}

// TestATeamsPageHasTheLimitsThatHold: the same that the team itself sees; a replica has a share of them.
func TestATeamsPageHasTheLimitsThatHold(t *testing.T) {
	c := openConsoled(t, "SLUICE_REPLICAS=2", "SLUICE_TEAMS_FILE="+
		write(t, strings.Replace(someTeams, "  - id: search\n", "  - id: search\n    concurrent: 7\n    open_tasks: 9\n", 1)))
	_, own := c.send("GET", "/sluice/v1/usage", "", "test")
	var told struct {
		Concurrent struct{ Limit int }
		OpenTasks  struct{ Limit int } `json:"open_tasks"`
	}
	must(t, json.Unmarshal(own, &told))
	_, page := c.visit(theOperator, "/teams/search", nil)
	rows := regexp.MustCompile(
		`(?s)<th scope="row">(In flight at this replica|Open tasks)</th>.*?<data value="(\d+)"[^>]*>\d+</data> <small class="opt">at once`).
		FindAllStringSubmatch(page, -1)
	if len(rows) != 2 || told.Concurrent.Limit != 4 || rows[0][2] != fmt.Sprint(told.Concurrent.Limit) ||
		rows[1][2] != fmt.Sprint(told.OpenTasks.Limit) {
		t.Errorf("the page has %q, the team is told %+v", rows, told)
	}
}
