package main

import (
	"context"
	"net/http"
	"regexp"
	"testing"
)

func TestSimulate(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	out, log, code := newTranscript(), newTranscript(), make(chan int, 1)
	go func() {
		code <- run(ctx, program{nil, out, log}, []string{"simulate", "--listen=127.0.0.1:0", "--key=other", "--key=test"})
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
	client.CloseIdleConnections()
	interrupt()
	if got := <-code; got != exitClean {
		t.Errorf("exit code %d; it said\n%s", got, log.bytes())
	}
}

func TestSimulateWhereNobodyCanListen(t *testing.T) {
	if got := command(t.Context(), nil, "simulate", "--listen=CANARY:1"); got.code != exitFailure {
		t.Errorf("%+v", got)
	}
}
