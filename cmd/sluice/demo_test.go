package main

import (
	"context"
	"image/png"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"sluice/cmd/sluice/demo"
	"strings"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
	"sluice/telemetry/recent"
)

// demonstrating runs the demonstration inside the test and returns its base address and a key of each team.
func demonstrating(t *testing.T, args ...string) (base, search, ads string, stop func() int) {
	t.Helper()
	ctx, interrupt := context.WithCancel(context.Background())
	out, log, code := newTranscript(), newTranscript(), make(chan int, 1)
	go func() { code <- run(ctx, program{nil, out, log}, append([]string{"demo"}, args...)) }()
	waiting, enough := context.WithTimeout(t.Context(), patience)
	defer enough()
	if _, err := log.find(waiting, regexp.MustCompile(`"msg":"serving"`)); err != nil {
		t.Fatalf("%v; it said\n%s%s", err, out.bytes(), log.bytes())
	}
	text := string(out.bytes())
	keys := regexp.MustCompile(`slk_[a-z0-9]{12}_[A-Za-z0-9]{43}`).FindAllString(text, -1)
	address := regexp.MustCompile(`http://\S+/api/v1`).FindString(text)
	ads = regexp.MustCompile(`# To another team[^\n]+\n[^\n]+(slk_\w+)`).FindStringSubmatch(text)[1]
	return address, keys[0], ads, func() int {
		interrupt()
		return <-code
	}
}

func TestTheDemonstrationsPicturesOpen(t *testing.T) {
	base, search, _, stop := demonstrating(t, "--listen=127.0.0.1:0")
	client := newClient(t)
	request, err := http.NewRequest(http.MethodPost, base+multimodalPath, strings.NewReader(demoPicture))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+search)
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	var body strings.Builder
	_ = answer.Write(&body)
	_ = answer.Body.Close()
	address := regexp.MustCompile(`"image":"([^"]+)"`).FindStringSubmatch(body.String())
	if address == nil {
		t.Fatalf("no address in %s", body.String())
	}
	picture, err := client.Get(address[1])
	if err != nil {
		t.Fatal(err)
	}
	config, err := png.DecodeConfig(picture.Body)
	_ = picture.Body.Close()
	if err != nil || config.Width != 1024 || config.Height != 768 {
		t.Errorf("the picture is %d by %d (%v), want 1024 by 768", config.Width, config.Height, err)
	}
	client.CloseIdleConnections()
	if code := stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}

func TestTheDemonstrationStartsWhereItsPortIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	base, _, _, stop := demonstrating(t, "--listen="+taken.Addr().String())
	if strings.Contains(base, taken.Addr().String()) || !strings.HasPrefix(base, "http://127.0.0.1:") {
		t.Errorf("it is at %s", base)
	}
	if code := stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}

// TestTheDemonstrationsLinkIsLast: behind the lines of the log about the start, so that it is in sight.
func TestTheDemonstrationsLinkIsLast(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	out, code := newTranscript(), make(chan int, 1)
	go func() { code <- run(ctx, program{nil, out, out}, []string{"demo", "--listen=127.0.0.1:0"}) }()
	waiting, enough := context.WithTimeout(t.Context(), patience)
	defer enough()
	if _, err := out.find(waiting, regexp.MustCompile(`/login\?code=`)); err != nil {
		t.Fatalf("%v; it said\n%s", err, out.bytes())
	}
	before, _, _ := strings.Cut(string(out.bytes()), "/login?code=")
	for _, line := range []string{"# A wrong key: 401.", `"msg":"console"`, `"msg":"serving"`} {
		if !strings.Contains(before, line) {
			t.Errorf("%s is not before the link", line)
		}
	}
	interrupt()
	if got := <-code; got != exitClean {
		t.Errorf("exit code %d", got)
	}
}

func TestTheDemonstrationsKeysAreNewEachTime(t *testing.T) {
	first, err := demo.MintTeams(demo.Hook{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := demo.MintTeams(demo.Hook{})
	if err != nil {
		t.Fatal(err)
	}
	if first.Search == second.Search || first.Search == first.Ads {
		t.Error("a key came twice")
	}
	for key, id := range map[string]string{first.Search.Reveal(): "search", first.Ads.Reveal(): "ads"} {
		if team, _, ok := first.File.Lookup(key, testTime); !ok || team.ID != id {
			t.Errorf("the key of %s does not work", id)
		}
	}
}

// TestStepsCanBePastedAnywhere: a comment must be harmless even in an interactive shell that does not know comments.
func TestStepsCanBePastedAnywhere(t *testing.T) {
	for _, step := range demo.Steps("http://127.0.0.1:8080/api/v1", demo.Teams{}) {
		if strings.ContainsAny(step.About, "'\"`()[]{}<>|&;$*?!\\\n") {
			t.Errorf("%q has characters that a shell interprets", step.About)
		}
		if strings.Count(step.Line, "'")%2 != 0 || strings.Contains(step.Line, "\n") {
			t.Errorf("%q is not one line with its quotes in pairs", step.Line)
		}
	}
}

// TestTheDemonstrationsPastAddsUp: the ledger has a month, and for the last day agrees with the recent requests, to the token.
func TestTheDemonstrationsPastAddsUp(t *testing.T) {
	made, err := demo.MintTeams(demo.Hook{})
	must(t, err)
	clock := &demo.Clock{}
	c := demoConfiguration(made, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, "127.0.0.1:0")
	c.clock, c.DirectoryFile = clock.Now, filepath.Join(t.TempDir(), "directory.json")
	log := openLog(c.Settings, io.Discard)
	defer closeLog(log)
	p, err := openKept(t.Context(), c, keptParts{log.Logger(), &bounds{now: time.Now, log: log.Logger()}, nil, nil})
	must(t, err)
	must(t, demo.MakePast(t.Context(), demo.Past{Teams: c.teams, Directory: directoryStore(c.Settings, nil), Balances: p.balances,
		Recent: p.collector, Clock: clock}))

	now := time.Now().UTC()
	newest, err := p.recent.Requests(t.Context(), recent.Filter{Size: 1})
	must(t, err)
	if len(newest.Requests) == 0 || newest.Requests[0].At.Add(newest.Requests[0].Duration).After(now) {
		t.Errorf("the newest request is %+v, and it is %v", newest.Requests, now)
	}
	days, ok := limit.Days(now.AddDate(0, 0, -demo.PastDays).Format(time.DateOnly), now.Format(time.DateOnly))
	if !ok {
		t.Fatal(days)
	}
	rows, err := p.balances.Rows(t.Context(), limit.Query{Days: days})
	must(t, err)
	ledger, used := map[int]limit.Amounts{}, map[string]int64{}
	for _, row := range rows {
		ledger[row.Day] = ledger[row.Day].Plus(row.Used)
		used[row.Team] += row.Used[limit.Tokens] + row.Used[limit.Images]
	}
	if len(ledger) != len(days) || len(used) != len(demo.PastTeams) {
		t.Errorf("the ledger has %d days of %d teams, want %d of %d", len(ledger), len(used), len(days), len(demo.PastTeams))
	}
	fillsTheHouse(t, made.File, ledger)
	byKey, err := p.balances.Rows(t.Context(), limit.Query{Days: days, By: limit.ScopeKey})
	must(t, err)
	keys := map[string]bool{}
	for _, row := range byKey {
		keys[row.Team+" "+row.Key] = true
	}
	for _, team := range made.File.List {
		if !keys[team.ID+" "+team.Keys[0].ID] {
			t.Errorf("nothing was used with the key of %s: %v", team.ID, keys)
		}
	}
	if early := now.Truncate(24 * time.Hour); now.Sub(early) > time.Hour { // else the day is too short to show anything
		today := days[len(days)-1]
		for _, team := range demo.PastTeams {
			var want limit.Amounts
			for _, row := range rows {
				if row.Team == team.ID && row.Day == today {
					want = want.Plus(row.Used)
				}
			}
			day, err := p.recent.Day(t.Context(), []string{team.ID}, now)
			must(t, err)
			if got := day[team.ID]; got.Requests-got.Refused()-got.Failed != want[limit.Requests] {
				t.Errorf("%s: the last requests have %+v, the ledger %v", team.ID, got, want)
			}
		}
	}
}

// fillsTheHouse: the demonstration's house admits its past, and is neither empty nor full. A key has limits of its own.
func fillsTheHouse(t *testing.T, file *teams.File, days map[int]limit.Amounts) {
	t.Helper()
	var most, all limit.Amounts
	for _, used := range days {
		for u := range used {
			most[u] = max(most[u], used[u])
		}
		all = all.Plus(used)
	}
	for _, q := range file.House.Account.Quotas {
		used := map[teams.Period]limit.Amounts{teams.PeriodDay: most, teams.PeriodMonth: all}[q.Period][unit.Index(q.Unit)]
		if part := float64(used) / float64(q.Limit); part < 0.5 || part > 0.95 {
			t.Errorf("the house's quota of %s a %s is used to %.2f", q.Unit, q.Period, part)
		}
	}
	if file.House.Alert == nil || len(file.Team("ads").CountedKeys()) != 1 || len(file.Warnings()) != 0 {
		t.Errorf("alerts %v, warnings %q, or no key has limits", file.House.Alert, file.Warnings())
	}
}

func TestSimulate(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(context.Background())
	out, log, code := newTranscript(), newTranscript(), make(chan int, 1)
	go func() {
		code <- run(ctx, program{nil, out, log}, []string{"simulate", "--listen=127.0.0.1:0", "--key=other", "--key=test",
			"--header-prefix=X-Other-"})
	}()
	waiting, enough := context.WithTimeout(t.Context(), patience)
	defer enough()
	match, err := out.find(waiting, regexp.MustCompile(`(http://\S+)/api/v1`))
	if err != nil {
		t.Fatal(err)
	}
	client := newClient(t)
	if status, text, err := ask(client, string(match[1]), textURL, demoText); err != nil || status != http.StatusOK {
		t.Errorf("with a key of the list: %d %q %v", status, text, err)
	}
	if kind := kindOfAnswer(t, client, string(match[1]), "X-Other-SSE"); !strings.HasPrefix(kind, "text/event-stream") {
		t.Errorf("with the header of that prefix: %s, want a stream", kind)
	}
	client.CloseIdleConnections()
	interrupt()
	if got := <-code; got != exitClean {
		t.Errorf("exit code %d; it said\n%s", got, log.bytes())
	}
}

// kindOfAnswer requests a text with a header set to enable, and returns the media type of the answer.
func kindOfAnswer(t *testing.T, client *http.Client, base, header string) string {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, base+textURL, strings.NewReader(demoText))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer test")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(header, "enable")
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.Header.Get("Content-Type")
}

func TestSimulateWhereNobodyCanListen(t *testing.T) {
	if got := command(t.Context(), nil, "simulate", "--listen=CANARY:1"); got.code != exitFailure {
		t.Errorf("%+v", got)
	}
}

// TestEnterPrintsAnotherLink, as often as it is pressed, until the input ends.
func TestEnterPrintsAnotherLink(t *testing.T) {
	links := 0
	onEnter(strings.NewReader("\n\nplease\n"), func() error { links++; return nil })
	if links != 3 {
		t.Errorf("%d links for 3 lines", links)
	}
	onEnter(strings.NewReader("\n\n\n"), func() error { links++; return io.ErrClosedPipe })
	if links != 4 {
		t.Error("it goes on although nothing can be printed")
	}
}
