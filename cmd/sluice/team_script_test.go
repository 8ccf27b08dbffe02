package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sluice/gateway"
	"sluice/gateway/console"
	"sluice/gateway/console/access"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/teams/store"
)

// scriptToken is the token of a script's console.
const scriptToken = "token-canary-0123456789"

// startConsole serves a console over the script's teams.yaml and directory.json, in the environment of its commands. A request with
// another token gets 401, and one for the team redirect is led elsewhere.
func startConsole(ts *testscript.TestScript, _ bool, _ []string) {
	file, err := teams.Parse([]byte(ts.ReadFile("teams.yaml")))
	ts.Check(err)
	kept, accounts := store.NewFile(filepath.Join(ts.MkAbs("."), "directory.json"), time.Now), limit.NewMemory(time.Now)
	log := slog.New(slog.DiscardHandler)
	follow := &directoryWatch{store: kept, roster: newRoster(file, "", func(*teams.File, gateway.Secret) {}), log: log, now: time.Now}
	removes := &removal{
		store: kept, roster: follow.roster, open: accounts.Open, alive: func() int64 { return 1 }, replica: "script", log: log, now: time.Now,
		who: teams.Order{Who: "replica", Reason: "nothing of it was open any more"},
	}
	handler := console.NewAPI(console.APIDeps{
		Registry: console.NewRegistry(console.RegistryDeps{
			Directory: kept, File: func() *teams.File { return file }, Accounts: accounts, Now: time.Now, Random: rand.Reader,
		}),
		Ledger: accounts, Currency: func() string { return file.Currency }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		person := access.Person{}
		if r.Header.Get("Authorization") == "Bearer "+scriptToken {
			person = access.Person{Name: "token", Role: access.Operator}
		}
		switch r.URL.Path {
		case console.Prefix + "/teams/redirect":
			http.Redirect(w, r, "http://elsewhere.example/", http.StatusTemporaryRedirect)
		case console.Prefix + "/teams/busy": // something of it is open
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
