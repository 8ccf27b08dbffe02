package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit/failover"
	"sluice/policy/limit/redisstore"
)

// benchRedis is the address of the Redis that the children share.
const benchRedis = "BENCH_REDIS"

func benchClient() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: os.Getenv(benchRedis), Protocol: 2, DisableIdentity: true, MaxRetries: -1, PoolSize: 64, PipelinePoolSize: -1, ContextTimeoutEnabled: true,
	})
}

// benchShared opens the accounts in Redis as a process does.
func benchShared() *failover.Failover {
	return failover.New(failover.Config{Store: redisstore.New(benchClient()), Timeout: time.Second, Replicas: 1, Now: time.Now})
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

// BenchmarkBesideNaive compares the gateway with rates and quotas in Redis with a naive one over the same Redis, on one
// core each.
func BenchmarkBesideNaive(b *testing.B) {
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
	upstream := startChild(b, "upstream", "", 2)
	naive := startChild(b, "naive", upstream.address, 1)
	gate := startChild(b, "redis", upstream.address, 1)
	body := padded(1024)
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"+sdkHeaders+"Content-Length: %d\r\n\r\n%s", textPath, benchKey, len(body), body)
	compare(b, []string{"naive", "gateway"}, []*child{naive, gate}, request, 32, 2000)
	b.ReportMetric(scriptTime(client.Info(b.Context(), "commandstats").Val())/float64(b.N), "gateway-script-µs/req")
}

// scriptTime is how many microseconds Redis has spent in scripts.
func scriptTime(info string) (total float64) {
	for line := range strings.Lines(info) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_eval"); ok {
			_, rest, _ = strings.Cut(rest, "usec=")
			usec, _, _ := strings.Cut(rest, ",")
			n, _ := strconv.ParseFloat(usec, 64)
			total += n
		}
	}
	return total
}
