package simulator_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"sluice/gateway/simulator"
)

// A test starts the service on a socket, drives its clock and reads its bill.
func Example() {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	service := simulator.New(simulator.Config{Keys: []string{"secret"}, Now: func() time.Time { return now }, Pending: time.Second,
		Running: time.Second})
	server := httptest.NewServer(service)
	defer server.Close()

	ask := func(method, path, body string) string {
		req, _ := http.NewRequest(method, server.URL+"/api/v1/"+path, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer secret")
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Service-Async", "enable")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	created := ask("POST", "services/aigc/image-generation/generation", `{"model":"gen2.6-image",
		"input":{"messages":[{"role":"user","content":[{"text":"A quiet lake"},{"image":"https://a.example/b.png"}]}]},"parameters":{"n":2}}`)
	_, id, _ := strings.Cut(created, `"task_id":"`)
	id, _, _ = strings.Cut(id, `"`)

	now = now.Add(2 * time.Second) // while no request runs
	fmt.Println(strings.Contains(ask("GET", "tasks/"+id, ""), `"task_status":"SUCCEEDED"`))
	fmt.Println(service.Tally().Images)
	http.DefaultClient.CloseIdleConnections()
	// Output:
	// true
	// 2
}

// A fault limited to one endpoint and one request.
func ExampleSimulator_SetFault() {
	service := simulator.New(simulator.Config{})
	service.SetFault(simulator.Fault{
		On: simulator.EndpointText, Times: 1, RetryAfter: "2",
		Error: &simulator.FaultError{Status: 429, Code: "Throttling.BurstRate"},
	})
	for range 2 {
		req := httptest.NewRequest("POST", "/api/v1/services/aigc/text-generation/generation",
			strings.NewReader(`{"model":"llm-plus","input":{"prompt":"hi"}}`))
		req.Header.Set("Authorization", "Bearer any")
		w := httptest.NewRecorder()
		service.ServeHTTP(w, req)
		fmt.Println(w.Code, w.Header().Get("Retry-After"))
	}
	// Output:
	// 429 2
	// 200
}
