package gateway_test

import (
	"bufio"
	"net/http"
	"testing"
	"time"
)

// benchQueue makes requests of a child's team wait for their turn. With "slots" there is one place in flight.
const benchQueue = "BENCH_QUEUE"

// benchQueues are the lines of the teams file for it.
var benchQueues = map[string]string{
	"idle":  "    queue: {wait: 60s, depth: 10000}\n    share: 2\n",
	"slots": "    queue: {wait: 60s, depth: 10000}\n    concurrent: 1\n",
}

// BenchmarkQueue puts the gateway with a team that waits where it has to, and never has to, beside itself without a queue, on one core each.
func BenchmarkQueue(b *testing.B) {
	upstream := startChild(b, "upstream", "", 2)
	none := startChild(b, "gateway", upstream.address, 1)
	queue := startChild(b, "gateway", upstream.address, 1, benchQueue+"=idle")
	compare(b, []string{"none", "queue"}, []*child{none, queue}, benchRequest(), 64, 2000)
}

// A thousand requests that wait cost at most 20 KB each beside their bodies: live heap and stacks of the process, without those of their
// connections, which were open before.
func TestMemoryOfWaitingRequests(t *testing.T) {
	const waiting, size, most = 1000, 1024, 20 << 10
	upstream := startChild(t, "hanging", "", 1)
	gate := startChild(t, "gateway", upstream.address, 1, benchQueue+"=slots")
	request := postOf(textPath, padded(size), "")
	conns := dialAll(t, gate.address, 2+waiting)
	for _, conn := range conns { // an answer each, so that net/http has what it needs for them
		if _, err := conn.Write(postOf("/nowhere", "", "")); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	send := func(conns []*benchConn, waiting float64) float64 {
		for _, conn := range conns {
			if _, err := conn.Write(request); err != nil {
				t.Fatal(err)
			}
		}
		for limit := time.Now().Add(30 * time.Second); gate.read("").waiting != waiting; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("%v wait", gate.read("").waiting)
			}
		}
		gate.read("?gc")
		use := gate.read("?gc")
		return use.heap + use.stacks
	}
	before := send(conns[:2], 1) // one is at the service
	each := (send(conns[2:], 1+waiting)-before)/waiting - size
	t.Logf("%.1f KB for each waiting request", each/1024)
	if each > most {
		t.Errorf("%.0f bytes for each waiting request, %d may be", each, most)
	}
}
