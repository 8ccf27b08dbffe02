package main

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sluice/gateway/console"
	"sluice/gateway/console/access"
	"sluice/gateway/console/remote"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

// answering is a console that answers in simulated time.
type answering func(*http.Request) *http.Response

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

// TestRmWaitsForTheRemoval, and reports it if that takes longer.
func TestRmWaitsForTheRemoval(t *testing.T) {
	for after, want := range map[int]string{
		3: "disabled: team maps\nremoved: team maps\n",
		99: "disabled: team maps\n" +
			"team maps is removed by itself once none of its requests and tasks is open, and every replica has seen that it ends\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked []string
			console := &remote.Console{Base: "http://console", HTTP: http.Client{Transport: answering(func(r *http.Request) *http.Response {
				asked = append(asked, r.Method)
				status := http.StatusOK
				if len(asked) > after {
					status = http.StatusNotFound
				}
				body := `{"code":"missing","status":` + strconv.Itoa(status) + `}`
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
			})}}
			var out strings.Builder
			begun := time.Now()
			must(t, teamRmCommand{Team: "maps", Wait: 10 * time.Second}.Run(t.Context(), program{stdout: &out}, console))
			took := time.Since(begun)
			if out.String() != want || took != min(time.Duration(after), 10)*time.Second || asked[0] != http.MethodDelete ||
				asked[1] != http.MethodGet {
				t.Errorf("asked %v in %v: %s", asked, took, out.String())
			}
		})
	}
}

// scriptToken is the token of a script's console.
const scriptToken = "token-canary-0123456789"

// startConsole serves a console over the script's teams.yaml and directory.json, in the environment of its commands. A request
// with another token gets 401, and one for the team redirect is redirected elsewhere.
func startConsole(ts *testscript.TestScript, _ bool, _ []string) {
	file, err := teams.Parse([]byte(ts.ReadFile("teams.yaml")))
	ts.Check(err)
	kept, accounts := store.NewFile(filepath.Join(ts.MkAbs("."), "directory.json"), time.Now), limit.NewMemory(time.Now)
	log := slog.New(slog.DiscardHandler)
	follow := &directoryWatch{store: kept, joined: store.NewLive(file, nil, time.Now, func(*teams.File) {}), log: log, now: time.Now}
	removes := &removal{
		store: kept, joined: follow.joined, open: accounts.Open, alive: func() int64 { return 1 }, replica: "script", log: log, now: time.Now,
		who: teams.Order{Who: "replica", Reason: "nothing of it was open any more"},
	}
	handler := console.NewAPI(console.APIDeps{
		Registry: console.NewRegistry(console.RegistryDeps{
			Directory: kept, File: func() *teams.File { return file }, Balances: accounts, Now: time.Now, Random: rand.Reader,
		}),
		Ledger: accounts, Currency: file.In, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		person := access.Person{}
		if r.Header.Get("Authorization") == "Bearer "+scriptToken {
			person = access.Person{Name: "token", Role: access.Operator}
		}
		switch r.URL.Path {
		case console.Prefix + "/teams/redirect":
			http.Redirect(w, r, "http://elsewhere.example/", http.StatusTemporaryRedirect)
		case console.Prefix + "/teams/busy": // it has open work
			_, err := accounts.Admit(context.Background(), &limit.Hold{ID: "busy", Team: &teams.Team{ID: "busy"}, Lease: time.Hour})
			ts.Check(err)
			fallthrough
		default:
			follow.look(r.Context())
			removes.look(r.Context())
			handler.ServeHTTP(w, r.WithContext(access.With(r.Context(), person)))
		}
	}))
	ts.Defer(server.Close)
	ts.Setenv("SLUICE_CONSOLE_URL", server.URL)
}
