package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestSimulate(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(context.Background())
	out, log, code := newTranscript(), newTranscript(), make(chan int, 1)
	go func() {
		code <- run(ctx, program{nil, out, log}, []string{"simulate", "--listen=127.0.0.1:0", "--key=other", "--key=test", "--header-prefix=X-Other-"})
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
