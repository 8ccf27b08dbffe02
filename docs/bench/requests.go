package main

import (
	"fmt"
	"strings"

	"sluice/docs/bench/servers"
)

const (
	key            = "slk_bench0000000_0000000000000000000000000000000000000000000" // gateways/sluice has its hash
	textPath       = "/api/v1/services/aigc/text-generation/generation"
	multimodalPath = "/api/v1/services/aigc/multimodal-generation/generation"
	imagePath      = "/api/v1/services/aigc/image-generation/generation"
	tasksPath      = "/api/v1/tasks/"
	openAIPath     = "/v1/chat/completions"

	bodySize = 13 << 20

	// what a client library sends
	sdk = "Accept: application/json\r\nAccept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n" +
		"User-Agent: service-sdk/1.24.6; python/3.11.7; platform/linux\r\n"
)

// requests are the benchmark's requests in the format of one API.
type requests struct{ json, frames, idle, body, create, poll []byte }

// serviceRequests are in the service's own format.
func serviceRequests() requests {
	chat := func(model string, size int) string {
		return padded(`{"model":"`+model+`","input":{"messages":[{"role":"system","content":"You are brief."},{"role":"user","content":"%s"}]},`+
			`"parameters":{"result_format":"message","temperature":0.7,"max_tokens":512}}`, size)
	}
	return requests{
		json:   post(textPath, "", chat("llm-max", 1024)),
		frames: post(textPath, "X-Service-SSE: enable\r\n", chat(pausing(5), 1024)),
		idle:   post(textPath, "X-Service-SSE: enable\r\n", chat(pausing(1000), 1024)),
		body: post(multimodalPath, "", padded(`{"model":"gen2.6-chat","input":{"messages":[{"role":"user","content":[{"text":"What is this?"},`+
			`{"image":"data:image/png;base64,%s"}]}]}}`, bodySize)),
		create: post(imagePath, "X-Service-Async: enable\r\n", `{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":`+
			`[{"text":"A lighthouse"},{"image":"https://example.com/a.png"}]}]},"parameters":{"n":1}}`),
		poll: fmt.Appendf(nil, "GET %s%s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n%s\r\n", tasksPath, servers.Task, key, sdk),
	}
}

// openAIRequests are in OpenAI's format, which has no tasks.
func openAIRequests() requests {
	chat := func(model, more string, size int) string {
		return padded(`{"model":"`+model+`","messages":[{"role":"system","content":"You are brief."},{"role":"user","content":"%s"}],`+
			`"temperature":0.7,"max_tokens":512`+more+`}`, size)
	}
	return requests{
		json:   post(openAIPath, "", chat("llm-max", "", 1024)),
		frames: post(openAIPath, "", chat(pausing(5), `,"stream":true`, 1024)),
		idle:   post(openAIPath, "", chat(pausing(1000), `,"stream":true`, 1024)),
		body: post(openAIPath, "", padded(`{"model":"llm-max","messages":[{"role":"user","content":[{"type":"text","text":"What is this?"},`+
			`{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}]}]}`, bodySize)),
	}
}

// pausing is a model whose streams pause between frames.
func pausing(milliseconds int) string { return fmt.Sprintf("llm-pause-%dms", milliseconds) }

// padded fills a body's one gap to reach the size.
func padded(body string, size int) string {
	return fmt.Sprintf(body, strings.Repeat("x", size-len(body)+len("%s")))
}

func post(path, more, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n%s%sContent-Length: %d\r\n\r\n%s", path, key, sdk,
		more, len(body), body)
}
