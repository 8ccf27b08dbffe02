package questions

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/gateway/console/remote"
)

// runnable is a command.
type runnable interface {
	Run(ctx context.Context, out io.Writer, client *remote.Console) error
}

// TestAnswersAsText: what the console answers is written in columns, without its control characters.
func TestAnswersAsText(t *testing.T) {
	answers := map[string]string{
		"/api/v1/requests/r1": `{"sentence":"Team ads has 1 left.","blame":"limit","advice":"Wait.","request":{"id":"r1","time":"2026-11-22T12:00:00Z","team":"ads","model":"a\u001b[31mb","status":429,
			"refusal":"admit/quota","limit":{"name":"spend-day","scope":"team","used":4.5,"held":0,"left":0.5,"limit":5,"asked":0.8}}}`,
		"/api/v1/requests/r2": `{"sentence":"No.","blame":"request","advice":"Mend it.","request":{"id":"r2","time":"2026-11-22T12:00:00Z",` +
			`"status":400,"refusal":"inspect/rules","rules":["text.seed","text.top_p"]}}`,
		"/api/v1/latency": `[{"model":"llm-max","what":"service","start":"2026-11-22T12:00:00Z","count":7,"p50_ms":812.3,"p95_ms":2000,"p99_ms":3000},
			{"model":"llm-max","what":"sluice","start":"2026-11-22T12:00:00Z","count":9,"p50_ms":0.312,"p95_ms":0.9,"p99_ms":1.2}]`,
		"/api/v1/faults": `[{"kind":"service","subject":"","text":"25 of the last 25 requests failed","since":"2026-11-22T12:00:00Z",` +
			`"count":25,"of":25},{"kind":"key","subject":"ads","text":"its key ends","since":null,"count":0,"of":0}]`,
		"/api/v1/search": `[{"kind":"request","id":"r1","title":"of ads","path":"/requests/r1"}]`,
		"/api/v1/limits": `[{"team":"ads","limit":"tokens-day-tag","of":"al\u001bpha","percent":96,"used":960,"held":0,"most":1000},` +
			`{"team":"","limit":"spend-day","percent":90,"used":4.5,"held":0,"most":5}]`,
		"/api/v1/refusals": `{"by":"limit","from":"2026-11-22T12:00:00Z","step_seconds":60,"kept":2,"all":7,` +
			`"data":[{"of":"images-day of team ads","count":2,"last":"2026-11-22T12:00:00Z","steps":[2]}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answers[r.URL.Path] == "" {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"title":"Not Found","status":404,"code":"missing","detail":"this request is not among the newest 10,000"}`)
			return
		}
		_, _ = io.WriteString(w, answers[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	for _, tt := range []struct {
		command runnable
		want    string
	}{
		{Why{"r1"}, `why      Team ads has 1 left.
do       Wait.
blame    limit
limit    spend-day of the team: 4.5 used, 0 held, 0.5 left of 5; the request asked for 0.8
status   429 admit/quota
when     2026-11-22T12:00:00Z
team     ads
model    a\x1b[31mb
request  r1
`},
		{Why{"r2"}, `why      No.
do       Mend it.
blame    request
rules    text.seed, text.top_p
status   400 inspect/rules
when     2026-11-22T12:00:00Z
request  r2
`},
		{Search{"r1"}, `KIND     ID  ABOUT   PAGE
request  r1  of ads  ` + server.URL + `/requests/r1
`},
		{Latency{By: "model"}, `       OF     WHAT                  FROM  COUNT  P50 MS  P95 MS  P99 MS
  llm-max  service  2026-11-22T12:00:00Z      7     812    2000    3000
  llm-max   sluice  2026-11-22T12:00:00Z      9    0.31    0.90    1.20
`},
		{Faults{}, "service: 25 of the last 25 requests failed, since 2026-11-22T12:00:00Z\nkey ads: its key ends\n"},
		{Limits{Percent: 80}, `PERCENT  TEAM   LIMIT           OF         USED  HELD  MOST
96       ads    tokens-day-tag  al\x1bpha  960   0     1000
90       (all)  spend-day       -          4.5   0     5
`},
		{Refusals{By: "limit"}, `COUNT  LAST                  LIMIT
2      2026-11-22T12:00:00Z  images-day of team ads
# 2 of 7 refused requests are kept; the others are only counted by minute
`},
	} {
		var out strings.Builder
		if err := tt.command.Run(t.Context(), &out, remote.New(server.URL, "token")); err != nil || out.String() != tt.want {
			t.Errorf("%+v: %v\n%s", tt.command, err, out.String())
		}
	}
	if err := (Why{"r3"}).Run(t.Context(), io.Discard, remote.New(server.URL, "token")); err == nil ||
		!strings.Contains(err.Error(), "not among the newest 10,000") {
		t.Errorf("an unknown request: %v", err)
	}
}
