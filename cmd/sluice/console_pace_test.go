package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/gateway/console"
	"sluice/gateway/console/pages"
)

// TestReadinessNamesThePaceOfTheConsole once a program reads faster than it may.
func TestReadinessNamesThePaceOfTheConsole(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	secret := strings.Repeat("operator-", 5)
	must(t, os.WriteFile(token, []byte(secret), 0o600))
	h := serving(t, "http://127.0.0.1:1", "SLUICE_CONSOLE_LISTEN=127.0.0.1:0", "SLUICE_CONSOLE_TOKEN_FILE="+token)
	address, client := consoleOf(t, h), newClient(t)
	status := 0
	for range 1000 {
		if status = apiStatus(t, client, address, secret); status != http.StatusNotFound {
			break
		}
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("a program that reads on and on: %d", status)
	}
	_, text, err := ask(client, "http://"+h.admin, "/readyz?verbose", "")
	if err != nil || !strings.Contains(text, console.PaceBound) || strings.Contains(text, pages.LiveBound) {
		t.Errorf("readiness: %s, %v", text, err)
	}
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}
