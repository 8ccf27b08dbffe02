package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"sluice/gateway/simulator"
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

// A collector, the metrics page and Redis have each canary only where it belongs: a client's trace id in the
// links of spans, prompts in spans if the operator switched that on, and nothing anywhere else.
func TestSweepOfTelemetryAndRedis(t *testing.T) {
	for _, capture := range []string{"false", "true"} {
		t.Run("capture="+capture, func(t *testing.T) {
			minted, err := teams.MintKey(rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			teamKey := minted.Reveal()
			collector := collecting(t, nil)
			server := startRedis(t)
			server.do("ACL", "SETUSER", "sluice", "on", ">"+canaries.redis, "~*", "+@all")
			service, upstream := newService(t, simulator.Config{})
			service.SetKeys("", canaries.upstreamKey)
			h := serving(t, upstream.URL, "SLUICE_UPSTREAM_KEY="+canaries.upstreamKey,
				"SLUICE_REDIS_URL=redis://sluice:"+canaries.redis+"@"+server.address(),
				"SLUICE_LOG_LEVEL=debug", "SLUICE_FORWARD_PATHS=uploads", "SLUICE_CAPTURE_CONTENT="+capture, "SLUICE_REDIS_TIMEOUT=2s",
				"SLUICE_TEAMS_FILE="+write(t, "teams:\n  - id: search\n    endpoints: [text, multimodal, image, tasks, other]\n    keys:\n"+
					minted.Lines()))
			client := newClient(t)
			base := "http://" + h.public
			visit(t, client, base, teamKey)
			for _, code := range []string{"Arrearage", canaries.upstreamKey} { // a service that is hostile, or broken
				service.SetFault(simulator.Fault{Error: &simulator.FaultError{Status: 400, Code: code,
					Message: "The key " + canaries.upstreamKey + " is overdue."}})
				visit(t, client, base, teamKey)
			}
			service.SetFault(simulator.Fault{Drop: "reset"})
			visit(t, client, base, teamKey)
			page := h.page(t)
			client.CloseIdleConnections()
			if code := h.stop(); code != exitClean {
				t.Errorf("exit code %d", code)
			}
			c := canaries
			never := []string{c.upstreamKey, c.redis, c.picture, c.query, c.cookie, c.wrongKey, c.agent, c.address, c.requestID, teamKey}
			prompts := append([]string{c.prompt}, never...)
			sweep(t, "the page", page, append([]string{c.trace}, prompts...)...)
			sweep(t, "Redis", server.everything(), append([]string{c.trace}, prompts...)...)
			sweep(t, "the log", string(h.log.bytes()), append([]string{simulator.LeakMark}, prompts...)...)
			sent := collector.raw.String()
			sweep(t, "what the collector got", sent, never...)
			if shows := betrayed(sent, c.prompt) != ""; shows != (capture == "true") {
				t.Errorf("prompts are sent: %v", shows)
			}
			if len(collector.names()) < 40 || len(collector.logs) < 40 || len(collector.metrics) < 10 || len(server.everything()) < 500 {
				t.Errorf("too little was swept: %d spans, %d log records, %d metrics, %d bytes of Redis", len(collector.names()), len(collector.logs),
					len(collector.metrics), len(server.everything()))
			}
		})
	}
}

// everything is the server's whole data, names and values.
func (s *redisServer) everything() string {
	s.Helper()
	ctx, all := context.Background(), new(strings.Builder)
	keys, err := s.admin.Keys(ctx, "*").Result()
	if err != nil {
		s.Fatal(err)
	}
	for _, key := range keys {
		var value any
		switch kind, _ := s.admin.Type(ctx, key).Result(); kind {
		case "string":
			value, err = s.admin.Get(ctx, key).Result()
		case "hash":
			value, err = s.admin.HGetAll(ctx, key).Result()
		case "zset":
			value, err = s.admin.ZRangeWithScores(ctx, key, 0, -1).Result()
		case "set":
			value, err = s.admin.SMembers(ctx, key).Result()
		case "stream":
			value, err = s.admin.XRange(ctx, key, "-", "+").Result()
		case "none": // it has expired
		default:
			s.Errorf("%s is a %s, a type that this test cannot read", key, kind)
		}
		if err != nil && err != redis.Nil {
			s.Errorf("%s: %v", key, err)
		}
		fmt.Fprintln(all, key, value)
	}
	return all.String()
}

// streamsOf returns how many streams a listener allows an HTTP/2 connection. Its first frame has settings of six bytes each;
// number 3 is the limit.
func streamsOf(t *testing.T, address string, roots *x509.CertPool) uint32 {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience)) // ends a hang
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 9)
	if _, err := io.ReadFull(conn, head); err != nil || head[3] != 4 {
		t.Fatalf("the first frame is %v %v", head, err)
	}
	settings := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(conn, settings); err != nil {
		t.Fatal(err)
	}
	for ; len(settings) >= 6; settings = settings[6:] {
		if binary.BigEndian.Uint16(settings) == 3 {
			return binary.BigEndian.Uint32(settings[2:])
		}
	}
	return 0
}

// A client may have 100 concurrent requests over one connection, 32 at the console.
func TestStreamsOfAConnectionAreBounded(t *testing.T) {
	certificate, key, roots := selfSigned(t)
	h := serving(t, "http://127.0.0.1:1", "SLUICE_TLS_CERT_FILE="+certificate, "SLUICE_TLS_KEY_FILE="+key, "SLUICE_CONSOLE_LISTEN=127.0.0.1:0")
	match, err := h.log.find(t.Context(), regexp.MustCompile(`"msg":"console","listen":"([^"]+)"`))
	if err != nil {
		t.Fatal(err)
	}
	if public, console := streamsOf(t, h.public, roots), streamsOf(t, string(match[1]), roots); public != 100 || console != 32 {
		t.Errorf("%d streams, and %d at the console, want 100 and 32", public, console)
	}
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}
