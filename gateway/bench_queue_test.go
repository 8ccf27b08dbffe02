package gateway_test

import (
	"bufio"
	"math"
	"net/http"
	"os"
	"testing"
	"time"
)

// benchQueue makes requests of a child's team wait for their turn. With "slots" there is one place in flight.
const benchQueue = "BENCH_QUEUE"

// benchAccounts gives a child that many accounts at the service; absent: one, without a file.
const benchAccounts = "BENCH_ACCOUNTS"

// benchQueues are the lines of the teams file for it.
var benchQueues = map[string]string{
	"idle":  "    queue: {wait: 60s, depth: 10000}\n    share: 2\n",
	"slots": "    queue: {wait: 60s, depth: 10000}\n    concurrent: 1\n",
}

// BenchmarkQueue puts the gateway with a team that waits where it has to, and never has to, beside itself without a queue, on one core
// each.
func BenchmarkQueue(b *testing.B) {
	upstream := startChild(b, "upstream", "", 2)
	none := startChild(b, "gateway", upstream.address, 1)
	queue := startChild(b, "gateway", upstream.address, 1, benchQueue+"=idle")
	compare(b, []string{"none", "queue"}, []*child{none, queue}, benchRequest(), 64, 2000)
}

// Two hundred requests that wait, and a thousand with LONG=1, cost at most 20 KB each beside their bodies: live heap and stacks of the
// process. What their connections cost, which were open before and had an answer, is said besides.
func TestMemoryOfWaitingRequests(t *testing.T) {
	for name, accounts := range map[string]string{"one account": "", "four accounts": "4"} {
		t.Run(name, func(t *testing.T) { memoryOfWaiting(t, benchAccounts+"="+accounts) })
	}
}

func memoryOfWaiting(t *testing.T, accounts string) {
	const size, most = 1024, 20 << 10
	waiting := 200 // on a busy machine a thousand take longer to come than the first of them waits
	if os.Getenv("LONG") != "" {
		waiting = 1000
	}
	upstream := startChild(t, "hanging", "", 1)
	gate := startChild(t, "gateway", upstream.address, 1, benchQueue+"=slots", accounts)
	request := postOf(textPath, padded(size), "")
	open := func(n int) (conns []*benchConn) {
		for range n { // an answer each, so that net/http has what it needs for them
			conn := dialAll(t, gate.address, 1)[0]
			if _, err := conn.Write(postOf("/nowhere", "", "")); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			conns = append(conns, conn)
		}
		return conns
	}
	alone := gate.live()
	conns := open(waiting + 1) // one of them will be at the service
	before := gate.live()
	for _, conn := range conns {
		if _, err := conn.Write(request); err != nil {
			t.Fatal(err)
		}
	}
	for limit := time.Now().Add(time.Minute); gate.read("").waiting != float64(waiting); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%v wait", gate.read("").waiting)
		}
	}
	each, connection := (gate.live()-before)/float64(waiting)-size, (before-alone)/float64(waiting)
	t.Logf("%.1f KB for each waiting request, and %.1f for its connection", each/1024, connection/1024)
	if each > most {
		t.Errorf("%.0f bytes for each waiting request, %d may be", each, most)
	}
}

// live is the process's live heap and its stacks: what is left once the collector finds nothing more. Pools and stacks need more than one
// of its rounds.
func (c *child) live() float64 {
	c.Helper()
	least, idle := math.Inf(1), 0
	for idle < 3 {
		use := c.read("?gc")
		if now := use.heap + use.stacks; now < least {
			least, idle = now, 0
			continue
		}
		idle++
	}
	return least
}
