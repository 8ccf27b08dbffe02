package policy_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sluice/policy"
)

// chatBody is a chat request of about 1 KB.
func chatBody() []byte {
	return []byte(`{"model":"llm-max","input":{"messages":[` +
		`{"role":"system","content":"You are a careful assistant. Answer briefly and in plain words."},` +
		`{"role":"user","content":"` + strings.Repeat("Why is the sky blue at noon and red at dusk? ", 8) + `"},` +
		`{"role":"assistant","content":"` + strings.Repeat("Because of \\\"scattering\\\".\\n", 6) + `"},` +
		`{"role":"user","content":"请再解释一次，用简单的话。"}]},` +
		`"parameters":{"result_format":"message","temperature":0.7,"top_p":0.8,"top_k":50,"max_tokens":1024,` +
		`"seed":1234,"stop":["###"],"stream":true,"incremental_output":true,"enable_search":false}}`)
}

// toolsBody is a request of about 8 KB, most of it tools.
func toolsBody() []byte {
	var tools []string
	for i := range 12 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"look_up_%d","description":"%s",`+
			`"parameters":{"type":"object","properties":{"city":{"type":"string","description":"the city's name"},`+
			`"unit":{"type":"string","enum":["celsius","fahrenheit"]},"days":{"type":"integer","minimum":1,"maximum":14}},`+
			`"required":["city"]}}}`, i, strings.Repeat("Looks up the weather of a city. ", 9)))
	}
	return []byte(`{"model":"llm-max","input":{"messages":[{"role":"user","content":"Weather in Oslo?"}]},` +
		`"parameters":{"result_format":"message","tools":[` + strings.Join(tools, ",") + `]}}`)
}

// imageBody is a task with some images, each of size bytes.
func imageBody(images, size int) []byte {
	image := append(pngHeader(800, 600, 2), make([]byte, size)...)
	uri := `{"image":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(image[:size]) + `"}`
	return []byte(`{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[{"text":"a cat"}` +
		strings.Repeat(","+uri, images) + `]}]},"parameters":{"n":1}}`)
}

var benchBodies = []struct {
	name     string
	endpoint policy.Endpoint
	body     []byte
}{
	{"chat1KB", policy.EndpointText, chatBody()},
	{"tools8KB", policy.EndpointText, toolsBody()},
	{"images13MB", policy.EndpointImage, imageBody(1, 10<<20)},
	{"images53MB", policy.EndpointImage, imageBody(4, 10<<20)},
}

// BenchmarkRead is one pass and one judgement: policy's whole work for a request.
func BenchmarkRead(b *testing.B) {
	for _, bb := range benchBodies {
		b.Run(bb.name, func(b *testing.B) {
			call := policy.Call{Endpoint: bb.endpoint, SSE: []string{"enable"}}
			if bb.endpoint == policy.EndpointImage {
				call.Async = []string{"enable"}
			}
			b.SetBytes(int64(len(bb.body)))
			b.ReportAllocs()
			for b.Loop() {
				q, err := policy.Read(&families, call, bb.body)
				if v := policy.Judge(nil, nil, &q); err != nil || len(v.Violations)+len(v.Warnings) > 0 {
					b.Fatal(err, v)
				}
			}
		})
	}
}

// BenchmarkUnmarshal is the comparison for Read.
func BenchmarkUnmarshal(b *testing.B) {
	for _, bb := range benchBodies {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.body)))
			b.ReportAllocs()
			for b.Loop() {
				var m map[string]any
				if err := json.Unmarshal(bb.body, &m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReadEscaped is a body whose writer escapes the slashes of its base64.
func BenchmarkReadEscaped(b *testing.B) {
	body := bytes.ReplaceAll(imageBody(1, 10<<20), []byte("A"), []byte(`\/`))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := policy.Read(&families, policy.Call{Endpoint: policy.EndpointMultimodal}, body); err != nil {
			b.Fatal(err)
		}
	}
}
