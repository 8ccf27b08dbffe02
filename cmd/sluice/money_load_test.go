package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// soakRequest is a request of the soak.
type soakRequest struct {
	path, body, header string // the header is switched on
	leaves             bool   // its client leaves inside of the answer
}

// chatOf is a chat with messages "role: text" on the text path; native and OpenAI's requests have the same messages.
func chatOf(model, members string, messages ...string) string {
	return fmt.Sprintf(`{"model":%q,"input":{"messages":[%s]},"parameters":{"result_format":"message"%s}}`, model, messagesOf(messages),
		members)
}

func openaiChatOf(model, members string, messages ...string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[%s]%s}`, model, messagesOf(messages), members)
}

func messagesOf(messages []string) string {
	var list []string
	for _, m := range messages {
		role, text, _ := strings.Cut(m, ": ")
		list = append(list, fmt.Sprintf(`{"role":%q,"content":%q}`, role, text))
	}
	return strings.Join(list, ",")
}

func imageOf(model, items, parameters string) string {
	return fmt.Sprintf(`{"model":%q,"input":{"messages":[{"role":"user","content":[{"text":"A mill by a river"}%s]}]},"parameters":{%s}}`,
		model, items, parameters)
}

// soakRequests have every kind of work that the service bills.
func soakRequests() []soakRequest {
	const (
		multimodal, older = "/api/v1" + multimodalPath, "/api/v1/services/aigc/text2image/image-synthesis"
		picture           = `,{"image":"https://pictures.example/mill.png"}`
		sse, async        = "X-Service-SSE", "X-Service-Async"
		openai            = "/v1/chat/completions"
	)
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("wave ", n)) }
	long := []string{"system: " + words(300), "user: What is a sluice?", "assistant: A gate for water.", "user: And a weir?"}
	marked := strings.NewReplacer(`"content":"`, `"content":[{"cache_control":{"type":"ephemeral"},"text":"`, `"}`, `"}]}`)
	return []soakRequest{
		{path: textURL, body: demoText},
		{path: textURL, body: demoStream, header: sse},
		{path: textURL, body: demoStream, header: sse, leaves: true},
		{path: textURL, body: chatOf("llm-max", "", long...)},
		{path: textURL, body: chatOf("llm-max", `,"incremental_output":true`, long...), header: sse, leaves: true},
		{path: textURL, body: chatOf("llm-plus", `,"max_tokens":50`, "user: "+words(2100), "assistant: "+words(20), "user: why")},
		{path: textURL, body: chatOf("llm-plus", `,"enable_thinking":true,"incremental_output":true`, "user: Should the gate be opened?"),
			header: sse},
		{path: textURL, body: chatOf("llm-max", `,"n":2`, "user: What is a mill?")},
		{path: multimodal, body: marked.Replace(chatOf("llm-max", `,"max_tokens":20`, "user: "+words(200), "assistant: "+words(50),
			"user: "+words(40)))},
		{path: multimodal, body: imageOf(mediaModel, picture+`,{"audio":"https://a.example/b.wav"},{"video":"https://a.example/b.mp4"}`,
			`"max_tokens":20`)},
		{path: multimodal, body: imageOf("llm-image-2.0", "", `"size":"1024*768"`)},
		{path: multimodal, body: imageOf("llm-image-2.0", "", `"size":"1664*928"`)},
		{path: multimodal, body: imageOf("gen2.6-image", "", `"stream":true,"enable_interleave":true,"max_images":3`), header: sse},
		{path: imageURL, body: imageOf("gen2.6-image", picture, `"n":2,"size":"1280*1280"`), header: async},
		{path: imageURL, body: imageOf("gen2.6-image", picture, `"n":1,"size":"1024*1024"`), header: async},
		{path: imageURL, body: imageOf("gen2.6-image", picture, ``), header: async},
		{path: older, body: `{"model":"gen2.5-t2i","input":{"prompt":"A lighthouse"},"parameters":{"n":1}}`, header: async},
		{path: openai, body: openaiChatOf("llm-max", "", long...)},
		{path: openai, body: openaiChatOf("llm-plus", `,"stream":true`, long...)},
		{path: openai, body: openaiChatOf("llm-plus", `,"stream":true,"stream_options":{"include_usage":true}`, long...), leaves: true},
		{path: "/v1/images/generations", body: `{"model":"gen2.5-t2i","prompt":"A mill in winter","n":1}`},
	}
}

// anyGate is a replica that runs.
func (s *moneySoak) anyGate() *gatewayProcess {
	for {
		if gate := s.gates[rand.IntN(len(s.gates))].Load(); gate != nil {
			return gate
		}
	}
}

// load sends requests of all kinds to all replicas until done is closed, and more if some kind was not sent yet.
func (s *moneySoak) load(done <-chan struct{}) {
	s.Helper()
	all := soakRequests()
	var next atomic.Int64
	var working sync.WaitGroup
	for range 12 {
		working.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				select {
				case <-done:
					if n >= len(all) {
						return
					}
				default:
				}
				for s.behind.Load() {
					time.Sleep(20 * time.Millisecond)
				}
				s.ask(s.anyGate(), all[n%len(all)])
			}
		})
	}
	working.Wait()
}

// ask sends a request. A client that leaves does so inside of the answer.
func (s *moneySoak) ask(gate *gatewayProcess, q soakRequest) {
	s.Helper()
	if answer, text := s.send(gate, q, "test"); answer != nil && answer.StatusCode != http.StatusOK {
		s.Errorf("%s %s: %s %s", q.path, q.body, answer.Status, text)
	}
}

// send sends a request with a key. Nil: there was no answer, or its client has left.
func (s *moneySoak) send(gate *gatewayProcess, q soakRequest, key string, headers ...string) (answer *http.Response, text []byte) {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+gate.public+q.path, strings.NewReader(q.body))
	if err != nil {
		s.Error(err)
		return nil, nil
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	if q.header != "" {
		request.Header.Set(q.header, "enable")
	}
	s.sent.Add(1)
	answer, err = s.client.Do(request)
	if err != nil {
		s.lost.Add(1)
		return nil, nil
	}
	body := answer.Body
	defer func() { _ = body.Close() }()
	if q.leaves {
		_, _ = body.Read(make([]byte, 16))
		return nil, nil
	}
	text, err = io.ReadAll(body)
	if err != nil {
		s.lost.Add(1)
	}
	s.heard(q, text, key)
	return answer, text
}

// heard notes what an answer says.
func (s *moneySoak) heard(q soakRequest, text []byte, key string) {
	var said struct {
		Output struct {
			ID string `json:"task_id"`
		} `json:"output"`
		Usage struct {
			Input  int64 `json:"input_tokens"`
			Output int64 `json:"output_tokens"`
		} `json:"usage"`
	}
	if _ = json.Unmarshal(text, &said); said.Output.ID != "" && rand.IntN(4) > 0 { // the others are never polled
		s.tasks.Store(said.Output.ID, key)
	}
	if strings.Contains(q.body, mediaModel) {
		s.media.Store(max(s.media.Load(), said.Usage.Input+said.Usage.Output))
	}
}

// pace makes clients wait while many tasks are open, until done is closed: a slow machine gets as much load as it can settle.
func (s *moneySoak) pace(done <-chan struct{}) {
	s.Helper()
	for {
		select {
		case <-done:
			s.behind.Store(false)
			return
		case <-time.After(100 * time.Millisecond):
			requests, tasks := s.open()
			s.behind.Store(requests+tasks > 300)
		}
	}
}

// poll polls the tasks to their ends.
func (s *moneySoak) poll() {
	s.Helper()
	s.tasks.Range(func(id, key any) bool {
		wait(s.T, fmt.Sprint("the end of task ", id), func() bool {
			_, text, err := askAs(s.client, key.(string), "http://"+s.anyGate().public, "/api/v1/tasks/"+id.(string), "")
			return err == nil && strings.Contains(text, `"task_status":"SUCCEEDED"`)
		})
		s.tasks.Delete(id)
		return true
	})
}
