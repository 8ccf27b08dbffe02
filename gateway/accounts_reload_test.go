package gateway_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/accounts"
	"sluice/policy/teams"
)

// A request goes by the teams and accounts that were in force when it began, also if both are replaced while its body arrives.
func TestARequestKeepsItsTeamsAndAccounts(t *testing.T) {
	accepted := make(chan bool, 10)
	h, _ := shared(t, []string{"id: a", "id: b, weight: 0"}, func(p *plan) { p.accepted = func(context.Context) { accepted <- true } })
	conn := h.dial()
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nConnection: "+
		"close\r\nContent-Length: %d\r\n\r\n%s",
		textPath, h.keys["search"], len(textBody), textBody[:20])
	<-accepted
	_, shop, _ := strings.Cut(h.teamsDoc, "  - id: shop")
	h.gateway.Set(parse(t, "teams:\n  - id: shop"+shop), accountsOf(t, "id: b, teams: [shop]"))
	_, _ = io.WriteString(conn, textBody[20:])
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
		t.Errorf("%v: %s", err, answer)
	}
	if got := h.served(); got != "a:1" {
		t.Errorf("served by %s", got)
	}
	h.ask("POST", textPath, textBody).wants(t, 401, "authenticate/key", "InvalidApiKey")
	if got := h.asks(1, "Authorization", "Bearer "+h.keys["shop"]); got != "200" || h.served() != "b:1" {
		t.Error(got)
	}
}

// No request sees new teams with old accounts, or the other way round: here such a team would have none.
func TestTeamsAndAccountsAreReplacedTogether(t *testing.T) {
	h, _ := shared(t, []string{"id: a, region: x", "id: b, region: y, weight: 0"}, func(p *plan) { p.limits = []string{"regions: [x]"} })
	var file [2]*teams.File
	file[0], file[1] = parse(t, h.teamsDoc), parse(t, strings.Replace(h.teamsDoc, "regions: [x]", "regions: [y]", 1))
	up := [2]accounts.Set{accountsOf(t, "id: a, region: x", "id: b, region: y, weight: 0"),
		accountsOf(t, "id: a, region: x, weight: 0", "id: b, region: y")}
	ctx, enough := context.WithCancel(t.Context())
	var setting, asking sync.WaitGroup
	setting.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			h.gateway.Set(file[i%2], up[i%2])
		}
	})
	for range 4 {
		asking.Go(func() {
			if got := h.asks(50); got != strings.TrimSuffix(strings.Repeat("200 ", 50), " ") {
				t.Error(got)
			}
		})
	}
	asking.Wait()
	enough()
	setting.Wait()
}
