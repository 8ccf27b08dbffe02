package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/gateway/mirror/store/storetest"
	"sluice/gateway/simulator"
)

// mirrored is a gateway with a mirror, and a client of it.
type mirrored struct {
	*testing.T
	*house
	client *http.Client
}

// mirroring starts a gateway with two teams, a hook, and what turns the mirror on.
func mirroring(t *testing.T, service, receiver string, variables ...string) (*mirrored, []string) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte(hookSecretText), 0o600))
	path := filepath.Join(dir, "teams.yaml")
	other := strings.ReplaceAll(strings.ReplaceAll(strings.TrimPrefix(someTeams, "teams:\n"), "search", "other"), testsDigest,
		digestOf("other"))
	other = strings.ReplaceAll(other, "7f3k9q2m4x1c", "7f3k9q2m4x1d")
	must(t, os.WriteFile(path, []byte("defaults: {mirror: {keep: 24h}}\n"+someTeams+"    hooks: [{id: jobs, url: \""+receiver+
		"/hook\", events: [\"task.*\"], secret_file: secret}]\n"+other), 0o600))
	host := strings.TrimPrefix(service, "http://")
	variables = append([]string{
		"SLUICE_TEAMS_FILE=" + path, "SLUICE_HOOK_NETWORKS=127.0.0.0/8", "SLUICE_POLL_INTERVAL=100ms",
		"SLUICE_RESULT_HOSTS=" + host, "SLUICE_RESULT_NETWORKS=127.0.0.0/8",
	}, variables...)
	client := newClient(t)
	client.CheckRedirect = func(next *http.Request, _ []*http.Request) error {
		next.Header.Del("Authorization")
		return nil
	}
	return &mirrored{t, serving(t, service, variables...), client}, servingEnviron(t, service, variables...)
}

func digestOf(key string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(key)))
}

// create makes a task with two pictures, as small as they can be, and returns its id.
func (m *mirrored) create() (task string) {
	m.Helper()
	r, err := http.NewRequestWithContext(m.Context(), http.MethodPost, "http://"+m.public+imageURL,
		strings.NewReader(strings.Replace(fmt.Sprintf(imageTask, 2), `"n":`, `"size":"768*768","n":`, 1)))
	must(m.T, err)
	r.Header = http.Header{"Authorization": {"Bearer test"}, "Content-Type": {"application/json"}, "X-Service-Async": {"enable"}}
	resp, err := m.client.Do(r)
	must(m.T, err)
	defer func() { _ = resp.Body.Close() }()
	var made struct {
		Output struct {
			ID string `json:"task_id"`
		} `json:"output"`
	}
	must(m.T, json.NewDecoder(resp.Body).Decode(&made))
	return made.Output.ID
}

// get gets an address with a team's key; empty: with none.
func (m *mirrored) get(address, key string, header ...string) (int, []byte, http.Header) {
	m.Helper()
	if address[0] == '/' {
		address = "http://" + m.public + address
	}
	r, err := http.NewRequestWithContext(m.Context(), http.MethodGet, address, nil)
	must(m.T, err)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if len(header) > 0 {
		r.Header.Set(header[0], header[1])
	}
	resp, err := m.client.Do(r)
	must(m.T, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	must(m.T, err)
	return resp.StatusCode, body, resp.Header
}

// toldOf are the results in the event of a task's success.
type toldOf struct {
	Data struct {
		Task    string `json:"task_id"`
		Pending bool   `json:"pending"`
		Results []struct{ URL, Stored string }
	}
}

// waitFor waits until the success of a task is told, and returns its results.
func (m *mirrored) waitFor(got *delivered, task string) (told toldOf) {
	m.Helper()
	wait(m.T, "the success of the task is told", func() bool {
		got.mu.Lock()
		defer got.mu.Unlock()
		for _, text := range got.events {
			var one toldOf
			if json.Unmarshal([]byte(text), &one) == nil && one.Data.Task == task {
				told = one
				return true
			}
		}
		return false
	})
	return told
}

// Pictures are kept byte for byte before their task's success is told, and are its team's also when the service, and Sluice, know the task
// no longer.
func TestPicturesOfTasksStay(t *testing.T) {
	t.Parallel()
	for about, form := range map[string]func(t *testing.T) []string{
		"a bucket, and Redis": func(t *testing.T) []string {
			return []string{"SLUICE_REDIS_URL=" + startRedis(t).url(), "SLUICE_MIRROR_URL=" + storetest.New(t).URL(),
				"AWS_ACCESS_KEY_ID=" + storetest.Keys.ID, "AWS_SECRET_ACCESS_KEY=" + storetest.Keys.Secret}
		},
		"a bucket through Sluice": func(t *testing.T) []string {
			return []string{"SLUICE_MIRROR_URL=" + storetest.New(t).URL(), "SLUICE_MIRROR_PROXY=true", "AWS_ACCESS_KEY_ID=" + storetest.Keys.ID,
				"AWS_SECRET_ACCESS_KEY=" + storetest.Keys.Secret}
		},
		"a folder": func(t *testing.T) []string {
			return []string{"SLUICE_MIRROR_URL=file://" + t.TempDir(), "SLUICE_MIRROR_PROXY=true"}
		},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			got, receiver := receiving(t)
			_, service := newService(t, simulator.Config{})
			variables := form(t)
			m, environ := mirroring(t, service.URL, receiver.URL, variables...)
			task := m.create()
			told := m.waitFor(got, task)
			if len(told.Data.Results) != 2 || told.Data.Pending {
				t.Fatalf("%+v", told)
			}
			var pictures [][]byte
			for i, r := range told.Data.Results {
				status, picture, _ := m.get(r.URL, "")
				if want := fmt.Sprintf("/sluice/v1/tasks/%s/results/%d", task, i+1); status != http.StatusOK || r.Stored != want ||
					!bytes.HasPrefix(picture, []byte("\x89PNG")) {
					t.Fatalf("%d, %+v", status, r)
				}
				pictures = append(pictures, picture)
			}
			_, before, _ := m.get("/api/v1/tasks/"+task, "test")
			if !strings.Contains(string(before), service.URL) || strings.Contains(string(before), "/sluice/v1/") {
				t.Errorf("the answer was altered: %s", before)
			}
			service.Close() // a day later only the store has them
			if i := slices.IndexFunc(variables, func(v string) bool { return strings.HasPrefix(v, "SLUICE_REDIS_URL=") }); i < 0 {
				m.stop() // and what was in memory is gone
				m.house = serving(t, service.URL, environ[len(environ)-len(variables)-5:]...)
			}
			defer m.stop()
			for i, r := range told.Data.Results {
				status, picture, header := m.get(r.Stored, "test")
				if status != http.StatusOK || !bytes.Equal(picture, pictures[i]) || header.Get("Content-Type") != "image/png" {
					t.Errorf("%s: %d, %d bytes of %d, %v", r.Stored, status, len(picture), len(pictures[i]), header)
				}
				if status, part, _ := m.get(r.Stored, "test", "Range", "bytes=1-3"); status != http.StatusPartialContent || string(part) != "PNG" {
					t.Errorf("%d, %q", status, part)
				}
			}
			var refused []string
			for _, of := range [][2]string{{told.Data.Results[0].Stored, "other"},
				{strings.Replace(told.Data.Results[0].Stored, task, "invented", 1), "test"}, {told.Data.Results[0].Stored + "0", "test"}} {
				status, text, header := m.get(of[0], of[1])
				refused = append(refused, fmt.Sprint(status, header.Get("Sluice-Refusal"), strings.SplitN(string(text), "request_id", 2)[0]))
			}
			if refused[0] != refused[1] || refused[1] != refused[2] ||
				!strings.HasPrefix(refused[0], "404recall/task") && !strings.HasPrefix(refused[0], "404 recall/task") {
				t.Errorf("%q", refused)
			}
			if status, _, _ := m.get(told.Data.Results[0].Stored, ""); status != http.StatusUnauthorized {
				t.Error(status)
			}
			for _, path := range []string{"/results/0", "/results/01", "/results/1000", "/results/1/2", "/results/", "/results", "/result/1",
				"/results/x"} {
				if status, _, header := m.get("/sluice/v1/tasks/"+task+path, "test"); status != http.StatusNotFound ||
					header.Get("Sluice-Refusal") != "route/path" {
					t.Error(path, status, header.Get("Sluice-Refusal"))
				}
			}
		})
	}
}

// While the store is away polls and settlements go on, and afterwards nothing is lost, which the day's verification shows.
func TestAStoreThatIsAwayHoldsUpNoPoll(t *testing.T) {
	t.Parallel()
	server := storetest.New(t)
	server.Stop()
	got, receiver := receiving(t)
	_, service := newService(t, simulator.Config{})
	m, environ := mirroring(t, service.URL, receiver.URL, "SLUICE_REDIS_URL="+startRedis(t).url(), "SLUICE_MIRROR_URL="+server.URL(),
		"AWS_ACCESS_KEY_ID="+storetest.Keys.ID, "AWS_SECRET_ACCESS_KEY="+storetest.Keys.Secret)
	defer m.stop()
	var tasks []string
	for range 5 {
		tasks = append(tasks, m.create())
	}
	for _, task := range tasks {
		wait(t, "the task has ended", func() bool {
			_, text, _ := m.get("/api/v1/tasks/"+task, "test")
			return strings.Contains(string(text), "SUCCEEDED")
		})
	}
	wait(t, "the log says that the store is away", func() bool { return strings.Contains(string(m.log.bytes()), "the store is away") })
	if status, _, header := m.get("/sluice/v1/tasks/"+tasks[0]+"/results/1", "test"); status != http.StatusServiceUnavailable ||
		header.Get("Sluice-Refusal") != "recall/state" {
		t.Error(status, header)
	}
	if times, _, text := got.of("task.succeeded"); times > 0 {
		t.Error(text)
	}
	server.Start()
	for _, task := range tasks {
		if told := m.waitFor(got, task); told.Data.Pending || len(told.Data.Results) != 2 || told.Data.Results[1].Stored == "" {
			t.Errorf("%+v", told)
		}
	}
	day := time.Now().UTC().Format(time.DateOnly)
	if o := command(t.Context(), environ, "mirror", "--verify", day); o.code != exitClean ||
		!strings.Contains(o.stdout, "5 tasks succeeded with 10 pictures, 0 of them are missing") {
		t.Errorf("%+v", o)
	}
	keep := server.Open()
	if err := keep.Delete(t.Context(), []string{"search/" + strings.ReplaceAll(day, "-", "/") + "/" + tasks[2] + "/2.png"}); err != nil {
		t.Fatal(err)
	}
	if o := command(t.Context(), environ, "mirror", "--verify", day); o.code != exitFailure ||
		!strings.Contains(o.stdout, "missing search "+tasks[2]+" 2\n") {
		t.Errorf("%+v", o)
	}
	for _, args := range [][]string{{"--verify", "yesterday"}, {"--verify", "2020-01-01"}, nil} {
		if o := command(t.Context(), environ, append([]string{"mirror"}, args...)...); o.code != exitFaulty {
			t.Errorf("%q: %+v", args, o)
		}
	}
	if o := command(t.Context(), servingEnviron(t, service.URL), "mirror", "--verify", day); o.code != exitFaulty {
		t.Errorf("%+v", o)
	}
}

// A mirror without what it needs is a fault, and one that may not be meant is a warning.
func TestSettingsOfAMirror(t *testing.T) {
	for about, tt := range map[string]struct {
		variables []string
		want      string
		faulty    bool
	}{
		"without hosts": {[]string{"SLUICE_MIRROR_URL=s3://pictures"}, "SLUICE_MIRROR_URL: allowed: s3://", true},
		"a folder without proxy": {[]string{"SLUICE_MIRROR_URL=file:///pictures", "SLUICE_RESULT_HOSTS=a.example"},
			"SLUICE_MIRROR_PROXY: allowed:", true},
		"no address": {[]string{"SLUICE_MIRROR_URL=pictures", "SLUICE_RESULT_HOSTS=a.example"}, "SLUICE_MIRROR_URL: allowed: s3://", true},
		"in clear text": {[]string{"SLUICE_MIRROR_URL=s3://pictures?endpoint=http://s3.example", "SLUICE_RESULT_HOSTS=a.example"},
			"http sends pictures in clear text", false},
		"in memory":         {[]string{"SLUICE_MIRROR_URL=s3://pictures", "SLUICE_RESULT_HOSTS=a.example"}, "pictures that wait are lost", false},
		"teams without one": {[]string{"SLUICE_TEAMS_FILE=" + write(t, someTeams+"    mirror: {keep: 24h}\n")}, "no pictures are stored", false},
	} {
		o := command(t.Context(), servingEnviron(t, "https://service.example", tt.variables...), "check")
		if !strings.Contains(o.text(), tt.want) || (o.code == exitFaulty) != tt.faulty {
			t.Errorf("%s: %+v", about, o)
		}
	}
}

// The demonstration delivers its tasks' ends, and refuses what is no address.
func TestTheDemonstrationRefusesOtherHooks(t *testing.T) {
	if o := command(t.Context(), nil, "demo", "--hook", "ftp://a.example", "--listen", "127.0.0.1:0"); o.code != exitFaulty ||
		!strings.Contains(o.stderr, "--hook: allowed") {
		t.Errorf("%+v", o)
	}
}
