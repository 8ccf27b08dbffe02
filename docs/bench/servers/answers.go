package servers

import (
	"fmt"
	"strings"
)

// Frames is how many a stream has, its last included.
const Frames = 50

// form has an API's answers, ready to be written.
type form struct {
	answer, streamHead []byte
	frames             [][]byte
	streamEnd          []byte
}

// loadBalancer has the headers that a service behind a load balancer adds.
const loadBalancer = "Server: istio-envoy\r\nVary: Origin\r\nX-Request-Id: 7f3c5a52-93e5-4d42-8a65-0d2a91b4a7f0\r\nX-Service-Uid: " +
	"1234567890\r\n" +
	"X-Service-Call-Gateway: true\r\nReq-Cost-Time: 812\r\nReq-Arrive-Time: 1770000000000\r\nResp-Start-Time: 1770000000812\r\n" +
	"Date: Mon, 02 Feb 2026 02:40:00 GMT\r\n"

var river = strings.Repeat("river ", 140)

var service = form{
	answer: whole(`{"output":{"choices":[{"message":{"content":"` + river + `","role":"assistant"},"finish_reason":"stop"}]},` +
		`"usage":{"total_tokens":160,"input_tokens":20,"output_tokens":140},"request_id":"7f3c"}`),
	streamHead: streamHead,
	frames: frames(func(i int) string {
		return fmt.Sprintf("id:%d\nevent:result\n:HTTP_STATUS/200\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":\" "+
			"river\",\"role\":\"assistant\"},"+
			"\"finish_reason\":\"null\"}]},\"usage\":{\"input_tokens\":20,\"output_tokens\":%d,\"total_tokens\":%d},\"request_id\":\"7f3c\"}\n\n",
			i, i, 20+i)
	}),
	streamEnd: []byte("0\r\n\r\n"),
}

var openAI = form{
	answer: whole(`{"id":"chatcmpl-7f3c","object":"chat.completion","created":1770000000,"model":"llm-max","choices":[{"index":0,"message":` +
		`{"role":"assistant","content":"` + river + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":140,` +
		`"total_tokens":160}}`),
	streamHead: streamHead,
	frames: frames(func(i int) string {
		delta, end := `{"content":" river"}`, `null}]`
		switch i {
		case 1:
			delta = `{"role":"assistant","content":" river"}`
		case Frames:
			delta, end = `{}`, `"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":48,"total_tokens":68}`
		}
		return `data: {"id":"chatcmpl-7f3c","object":"chat.completion.chunk","created":1770000000,"model":"llm-max","choices":[{"index":0,` +
			`"delta":` +
			delta + `,"finish_reason":` + end + "}\n\n"
	}),
	streamEnd: []byte("e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"),
}

var streamHead = []byte("HTTP/1.1 200 OK\r\n" + loadBalancer +
	"Content-Type: text/event-stream;charset=UTF-8\r\nTransfer-Encoding: chunked\r\n\r\n")

// A task has ended by its first poll.
var (
	taskMade  = whole(`{"output":{"task_id":"` + Task + `","task_status":"PENDING"},"request_id":"7f3c"}`)
	taskEnded = whole(taskEnd)
)

// Task is the id of the service's one task.
const Task = "ended"

var taskEnd = `{"output":{"task_id":"` + Task + `","task_status":"SUCCEEDED","submit_time":"2026-11-21 20:00:00.123",` +
	`"scheduled_time":"2026-11-21 20:00:01.123",` +
	`"end_time":"2026-11-21 20:00:09.523","finished":true,"choices":[{"message":{"content":[{"type":"image",` +
	`"image":"https://pictures.example.com/` +
	strings.Repeat("a", 300) + `"}],"role":"assistant"},"finish_reason":"stop"}]},"usage":{"image_count":1,"size":"1280*720"},` +
	`"request_id":"7f3c"}`

func whole(body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", loadBalancer, len(body),
		body)
}

func frames(text func(i int) string) [][]byte {
	all := make([][]byte, Frames)
	for i := range all {
		frame := text(i + 1)
		all[i] = fmt.Appendf(nil, "%x\r\n%s\r\n", len(frame), frame)
	}
	return all
}
