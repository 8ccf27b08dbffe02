package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/cache"
	"sluice/cmd/sluice/redisclient"
	"sluice/gateway"
	"sluice/gateway/upstream"
	"sluice/policy/limit"
	"sluice/policy/limit/failover"
	"sluice/policy/limit/redisstore"
)

// benchRedis is the address of the Redis that the children share.
const benchRedis = "BENCH_REDIS"

func benchClient() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: os.Getenv(benchRedis), Protocol: 2, DisableIdentity: true, MaxRetries: -1, PoolSize: 64, PipelinePoolSize: -1,
		ContextTimeoutEnabled: true,
	})
}

// benchShared opens the accounts in Redis as a process does. The gateway's background work maintains them.
func benchShared() *failover.Failover {
	address, ok := redisclient.ParseAddress("redis://" + os.Getenv(benchRedis))
	if !ok {
		panic("BENCH_REDIS is no address")
	}
	client := redisclient.Open(redisclient.Config{
		Address: address, Timeout: time.Second, KeyPrefix: cache.KeyPrefix, Away: limit.ErrAway, Log: slog.New(slog.DiscardHandler),
		Measure: func(string, string, time.Duration) {},
	})
	balances := failover.New(failover.Config{Store: redisstore.New(client), Timeout: time.Second, Replicas: 1, Now: time.Now})
	client.OnConnect(balances.Connected)
	return balances
}

// naiveGateway is a gateway as written in an afternoon: it decodes the body into a map for the model, uses GET, INCR and
// EXPIRE for a limit of requests a minute and the standard proxy on the standard transport, and decodes the answer into a
// map for its usage. It holds nothing, corrects nothing, and counts refused requests.
func naiveGateway() http.Handler {
	client := benchClient()
	target := benchBase()
	target.Path = ""
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(resp *http.Response) error {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		var answer map[string]any
		_ = json.Unmarshal(body, &answer)
		resp.Body = io.NopCloser(bytes.NewReader(body))
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request map[string]any
		if err != nil || json.Unmarshal(body, &request) != nil {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		key := "naive:" + r.Header.Get("Authorization") + ":" + strconv.FormatInt(time.Now().Unix()/60, 10)
		used, _ := client.Get(r.Context(), key).Int64()
		if used >= 1_000_000_000 {
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		client.Incr(r.Context(), key)
		client.Expire(r.Context(), key, 2*time.Minute)
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.Header.Set("Authorization", "Bearer upstream")
		proxy.ServeHTTP(w, r)
	})
}

// askingProxy is the bare proxy with a PING of Redis before each request: the least that a limit in Redis can take.
func askingProxy() http.Handler {
	client, proxy := benchClient(), bareProxy()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client.Ping(r.Context())
		proxy.ServeHTTP(w, r)
	})
}

// BenchmarkBesideNaive compares the gateway with rates and quotas in Redis with a naive one over the same Redis, on one
// core each.
func BenchmarkBesideNaive(b *testing.B) {
	server := startBenchRedis(b)
	upstream := startChild(b, "upstream", "", 2)
	naive := startChild(b, "naive", upstream.address, 1)
	gate := startChild(b, "redis", upstream.address, 1)
	compare(b, []string{"naive", "gateway"}, []*child{naive, gate}, benchRequest(), 32, 2000)
	b.ReportMetric(server.read().script/float64(b.N), "gateway-script-µs/req")
}

// BenchmarkRedis puts the gateway with rates and quotas in Redis beside a bare proxy and beside itself with the same limits in memory.
func BenchmarkRedis(b *testing.B) {
	server := startBenchRedis(b)
	upstream := startChild(b, "upstream", "", 2)
	bare := startChild(b, "bare", upstream.address, 1)
	memory := startChild(b, "gateway", upstream.address, 1)
	gate := startChild(b, "redis", upstream.address, 1)
	before := server.read()
	compare(b, []string{"bare", "memory", "redis"}, []*child{bare, memory, gate}, benchRequest(), 64, 2000)
	after, n := server.read(), float64(b.N+500)
	b.ReportMetric((after.cpu-before.cpu)/n, "server-cpu-µs/req")
	b.ReportMetric((after.script-before.script)/n, "script-µs/req")
	b.ReportMetric((after.calls-before.calls)/n, "calls/req")
	b.ReportMetric((after.reads-before.reads)/n, "reads/req")
	b.ReportMetric((after.in-before.in)/n, "bytes-in/req")
	b.ReportMetric((after.out-before.out)/n, "bytes-out/req")
}

// BenchmarkPaced sends a thousand requests in a second, and reports how long each child takes to answer them.
func BenchmarkPaced(b *testing.B) {
	startBenchRedis(b)
	upstream := startChild(b, "upstream", "", 2)
	names := []string{"bare", "asking", "gateway", "redis"}
	latencies := make([][]time.Duration, len(names))
	children, conns, before := make([]*child, len(names)), make([][]*benchConn, len(names)), make([]stats, len(names))
	for i, name := range names {
		children[i] = startChild(b, name, upstream.address, 1)
		conns[i] = dialAll(b, children[i].address, 16)
		drive(b, conns[i], benchRequest(), 500)
		before[i] = children[i].read("")
	}
	const chunk = 1000
	for done := 0; done < b.N; done += chunk {
		for i := range children {
			latencies[i] = append(latencies[i], pace(b, conns[i], benchRequest(), min(chunk, b.N-done))...)
		}
	}
	for i, name := range names {
		slices.Sort(latencies[i])
		for _, percent := range []int{50, 99} {
			b.ReportMetric(float64(latencies[i][len(latencies[i])*percent/100].Nanoseconds())/1000, fmt.Sprintf("%s-p%d-µs", name, percent))
		}
		b.ReportMetric((children[i].read("").cpu-before[i].cpu)/float64(b.N), name+"-cpu-µs/req")
	}
	b.ReportMetric(0, "ns/op")
}

// pace sends n requests, one each millisecond, and returns how long each took.
func pace(b *testing.B, conns []*benchConn, request []byte, n int) []time.Duration {
	due, took := make(chan int, n), make([]time.Duration, n)
	var asking sync.WaitGroup
	for _, conn := range conns {
		asking.Go(func() {
			for i := range due {
				begun := time.Now()
				if err := conn.exchange(request); err != nil {
					b.Error(err)
				}
				took[i] = time.Since(begun)
			}
		})
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for i := range n {
		<-tick.C
		due <- i
	}
	close(due)
	asking.Wait()
	return took
}

func benchRequest(headers ...string) []byte {
	body := padded(1024)
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"+sdkHeaders+"%sContent-Length: %d\r\n\r\n%s",
		textPath, benchKey, strings.Join(headers, ""), len(body), body)
}

// benchServer is the Redis that the children share.
type benchServer struct {
	testing.TB
	client *redis.Client
}

func startBenchRedis(b *testing.B) benchServer {
	b.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		b.Skip("redis-server is not installed")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := listener.Addr().(*net.TCPAddr)
	_ = listener.Close()
	server := exec.Command(path, "--port", strconv.Itoa(address.Port), "--save", "")
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	b.Setenv(benchRedis, address.String())
	b.Setenv(benchLimits, "1")
	client := benchClient()
	for client.Ping(b.Context()).Err() != nil {
		time.Sleep(time.Millisecond)
	}
	b.Cleanup(func() { _ = client.Close() })
	return benchServer{b, client}
}

// benchCounts are Redis's counters: µs of processor time, in all and in scripts; calls of scripts; reads of its connections;
// bytes.
type benchCounts struct{ cpu, script, calls, reads, in, out float64 }

func (s benchServer) read() (c benchCounts) {
	info := s.client.Info(s.Context(), "cpu", "stats", "commandstats").Val()
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		n, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "used_cpu_sys", "used_cpu_user":
			c.cpu += n * 1e6
		case "total_reads_processed":
			c.reads = n
		case "total_net_input_bytes":
			c.in = n
		case "total_net_output_bytes":
			c.out = n
		case "cmdstat_evalsha", "cmdstat_eval":
			c.script += field(value, "usec=")
			c.calls += field(value, "calls=")
		}
	}
	return c
}

// field is a number in a line of commandstats.
func field(line, name string) float64 {
	_, rest, _ := strings.Cut(line, name)
	number, _, _ := strings.Cut(rest, ",")
	n, _ := strconv.ParseFloat(number, 64)
	return n
}

// bareProxy is the reference: a ReverseProxy on a tuned Transport of net/http.
func bareProxy() http.Handler {
	return reverseProxy(&http.Transport{
		DisableCompression: true, MaxIdleConnsPerHost: 512, IdleConnTimeout: 30 * time.Second,
		ResponseHeaderTimeout: settings().HeaderTimeout, WriteBufferSize: 8 << 10, ReadBufferSize: 8 << 10,
	})
}

// ownProxy is the second reference: the same proxy over the gateway's own way to the service, so that the rest of the
// difference is what the stages cost.
func ownProxy() http.Handler {
	config := settings()
	return reverseProxy(upstream.New(upstream.Config{
		URL: benchBase(), ConnectTimeout: config.ConnectTimeout, HeaderTimeout: config.HeaderTimeout, IdleTimeout: config.IdleTimeout,
		DrainTime: 30 * time.Second, Now: time.Now, Surplus: func() {},
	}))
}

func reverseProxy(transport http.RoundTripper) http.Handler {
	base := benchBase()
	return &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(&url.URL{Scheme: base.Scheme, Host: base.Host})
			pr.Out.Header.Set("Authorization", "Bearer upstream")
		},
		Transport: transport, BufferPool: gateway.NewBufferPool(),
	}
}

// serverAlone gives the service's answers itself: the rest is net/http's own part of a request.
func serverAlone(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header()["Content-Type"], w.Header()["Content-Length"] = []string{"application/json"}, []string{strconv.Itoa(len(benchJSON))}
	_, _ = w.Write(benchJSON)
}
