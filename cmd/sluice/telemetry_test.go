package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"unicode/utf8"

	"sluice/policy/teams"
)

// A service sends one team a request id, a malformed header and a usage name that are not UTF-8. The other team loses none
// of its log records: a batch with one invalid string would not be sent at all.
func TestInvalidTextsLoseNoBatch(t *testing.T) {
	collector := collecting(t, nil)
	t.Setenv("OTEL_BLRP_SCHEDULE_DELAY", "60000") // all of it is one batch, sent at the end
	shop, err := teams.MintKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if len(body) != len(demoText) { // the longer one is the other team's
			w.Header()["X-Request-Id"] = []string{"id-\xff\xfe"}
			_, _ = io.WriteString(w, "{\"usage\":{\"input_tokens\":1,\"odd\xff\":2}}")
			return
		}
		_, _ = io.WriteString(w, `{"usage":{"input_tokens":1}}`)
	}))
	defer upstream.Close()
	h := serving(t, upstream.URL, "SLUICE_LOG_LEVEL=debug", "SLUICE_TEAMS_FILE="+write(t, someTeams+"  - id: shop\n    keys:\n"+shop.Lines()))
	client := newClient(t)
	for range 3 {
		send(t, client, "POST", "http://"+h.public+textURL, demoText)
		send(t, client, "POST", "http://"+h.public+textURL, demoText+" ", "Authorization", "Bearer "+shop.Reveal())
	}
	client.CloseIdleConnections()
	h.stop()
	requests := map[string]int{}
	for _, record := range collector.logs {
		if record.GetBody().GetStringValue() == "request" {
			about := plain(record.GetAttributes())
			requests[fmt.Sprint(about["team"])]++
			if id, _ := about["upstream_id"].(string); !utf8.ValidString(id) || about["team"] == "shop" && id != "id-\ufffd" {
				t.Errorf("the id is %q", id)
			}
		}
	}
	if requests["search"] != 3 || requests["shop"] != 3 {
		t.Errorf("the collector got requests of %v, want 3 of each team", requests)
	}
}
