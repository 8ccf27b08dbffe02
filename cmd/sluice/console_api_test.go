package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/gateway"
	"sluice/gateway/console"
	"sluice/gateway/console/access"
	"sluice/gateway/simulator"
	"sluice/policy/teams"
)

// consoled is a running gateway with its console's interface and pages.
type consoled struct {
	*testing.T
	api, pages http.Handler
	public     string
	process    *process
}

// openConsoled runs a gateway in front of a simulator.
func openConsoled(t *testing.T, variables ...string) consoled {
	t.Helper()
	_, service := newService(t, simulator.Config{Pending: time.Hour})
	c, err := loadConfiguration(servingEnviron(t, service.URL, append([]string{"SLUICE_CONSOLE_LISTEN=127.0.0.1:0", "SLUICE_LOG_LEVEL=error"},
		variables...)...))
	must(t, err)
	log := openLog(c.Settings, io.Discard)
	process, err := open(t.Context(), c, log, start{})
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- process.serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		closeLog(log)
	})
	return consoled{t, process.console.api, process.console.pages, "http://" + process.listeners.public.Addr().String(), process}
}

// ask asks the interface as an operator, and reads the answer.
func (c consoled) ask(line, body string, want int, into any, headers ...string) http.Header {
	c.Helper()
	method, path, _ := strings.Cut(line, " ")
	person := access.Person{Name: "token", Role: access.Operator}
	r := httptest.NewRequestWithContext(access.With(c.Context(), person), method, console.Prefix+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	c.api.ServeHTTP(w, r)
	if w.Code != want {
		c.Errorf("%s: %d, want %d: %s", line, w.Code, want, w.Body)
	}
	if into != nil {
		must(c.T, json.Unmarshal(w.Body.Bytes(), into))
	}
	return w.Header()
}

// send sends a request of the team.
func (c consoled) send(method, path, body, key string, headers ...string) (status int, text []byte) {
	c.Helper()
	request, err := http.NewRequestWithContext(c.Context(), method, c.public+path, strings.NewReader(body))
	must(c.T, err)
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, cmp.Or(value, "enable"))
	}
	answer, err := oneOff.Do(request)
	must(c.T, err)
	defer func() { _ = answer.Body.Close() }()
	text, err = io.ReadAll(answer.Body)
	must(c.T, err)
	return answer.StatusCode, text
}

// A team's life over the console: its key works, its task is cancelled, its limit is in force, and it is removed.
func TestConsoleAndGateway(t *testing.T) {
	for about, variables := range map[string][]string{"memory": nil, "Redis": {"SLUICE_REDIS_URL=" + startRedis(t).url()}} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			c := openConsoled(t, variables...)
			c.ask("POST /teams", `{"id":"maps"}`, 201, nil)
			var key teams.NewKey
			c.ask("POST /teams/maps/keys", `{"note":"the indexer"}`, 201, &key)
			status := func() int { status, _ := c.send("POST", textURL, demoText, key.Key); return status }
			wait(t, "the key works", func() bool { return status() == 200 })
			c.ask("PATCH /teams/maps/keys/"+key.ID, `{"disabled":true}`, 200, nil)
			wait(t, "the key is disabled", func() bool { return status() == 401 })
			c.ask("PATCH /teams/maps/keys/"+key.ID, `{"disabled":false}`, 200, nil)
			wait(t, "the key works again", func() bool { return status() == 200 })

			_, text := c.send("POST", imageURL, fmt.Sprintf(imageTask, 1), key.Key, "X-Service-Async")
			var made struct {
				Output struct {
					Task string `json:"task_id"`
				} `json:"output"`
			}
			must(t, json.Unmarshal(text, &made))
			task := "/teams/maps/tasks/" + made.Output.Task + "/cancel"
			c.ask("POST "+task, "", 204, nil)
			c.ask("POST "+task, "", 409, nil)
			c.ask("POST /teams/search/tasks/"+made.Output.Task+"/cancel", "", 404, nil)
			if _, text := c.send("GET", "/api/v1/tasks/"+made.Output.Task, "", key.Key); !bytes.Contains(text, []byte("CANCELED")) {
				t.Errorf("%s", text)
			}

			var usage struct {
				Data []struct{ Used map[string]json.Number }
			}
			wait(t, "usage", func() bool {
				c.ask("GET /teams/maps/usage", "", 200, &usage)
				return len(usage.Data) == 1 && usage.Data[0].Used["tokens"] != "0"
			})
			c.ask("POST /teams/maps/adjust", `{"unit":"tokens","delta":1000,"reason":"a test"}`, 200, nil)

			etag := c.ask("GET /teams/maps", "", 200, nil).Get("ETag")
			c.ask("PUT /teams/maps", `{"quotas":{"tokens":{"day":1000}}}`, 200, nil, "If-Match: "+etag)
			wait(t, "the limit is in force", func() bool { return status() == 429 })
			c.ask("PUT /teams/maps", `{}`, 412, nil, "If-Match: "+etag)

			c.ask("DELETE /teams/maps", "", 202, nil)
			wait(t, "the key has ended", func() bool { return status() == 401 })
			wait(t, "it is removed by itself", func() bool { return c.gone("maps") })
			var list struct{ Data []struct{ What, Who string } }
			c.ask("GET /audit?limit=1", "", 200, &list)
			if list.Data[0].What != "team.remove" || list.Data[0].Who != "replica" {
				t.Errorf("%+v", list)
			}
		})
	}
}

// TestACancelThatWasNotSent is certainly refused, and the audit records that.
func TestACancelThatWasNotSent(t *testing.T) {
	for _, err := range []error{gateway.ErrNoTask, gateway.ErrNoCancel, gateway.ErrCancelRate} {
		var told *teams.Problem
		if !errors.As(cancelError(err), &told) {
			t.Errorf("%v is told as %v", err, cancelError(err))
		}
	}
	if err := errors.New("no answer"); !errors.Is(cancelError(err), err) || cancelError(nil) != nil {
		t.Error("what is not known is told as refused")
	}
}

// gone reports whether a team is no longer there.
func (c consoled) gone(team string) bool {
	person := access.Person{Name: "token", Role: access.Operator}
	r := httptest.NewRequestWithContext(access.With(c.Context(), person), http.MethodGet, console.Prefix+"/teams/"+team, http.NoBody)
	w := httptest.NewRecorder()
	c.api.ServeHTTP(w, r)
	return w.Code == http.StatusNotFound
}
