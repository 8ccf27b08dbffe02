package openai

import "testing"

func TestMessageRefusals(t *testing.T) {
	for _, c := range []struct{ story, message, param string }{
		{"no object", `"Hi"`, "messages[1]"},
		{"no role", `{"content":"Hi"}`, "messages[1].role"},
		{"an unknown role", `{"role":"critic","content":"Hi"}`, "messages[1].role"},
		{"a role of old", `{"role":"function","name":"f","content":"Hi"}`, "messages[1].role"},
		{"a role that is no word", `{"role":[],"content":"Hi"}`, "messages[1].role"},
		{"a refusal", `{"role":"assistant","refusal":"No."}`, "messages[1].refusal"},
		{"a call of old", `{"role":"assistant","function_call":{"name":"f","arguments":""}}`, "messages[1].function_call"},
		{"a recording", `{"role":"assistant","audio":{"id":"a"}}`, "messages[1].audio"},
		{"content twice", `{"role":"user","content":"a","content":"b"}`, "messages[1].content"},
		{"content that is a number", `{"role":"user","content":1}`, "messages[1].content"},
		{"content that is an object", `{"role":"user","content":{"type":"text","text":"a"}}`, "messages[1].content"},
		{"a part that is no object", `{"role":"user","content":["a"]}`, "messages[1].content[0]"},
		{"a part without a type", `{"role":"user","content":[{"text":"a"}]}`, "messages[1].content[0].type"},
		{"a recording in a part", `{"role":"user","content":[{"type":"text","text":"a"},{"type":"input_audio","input_audio":{}}]}`, "messages[1].content[1].type"},
		{"a file in a part", `{"role":"user","content":[{"type":"file","file":{}}]}`, "messages[1].content[0].type"},
		{"a refusal in a part", `{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}`, "messages[1].content[0].type"},
		{"a text part without a text", `{"role":"user","content":[{"type":"text","text":null}]}`, "messages[1].content[0].text"},
		{"a picture without an address", `{"role":"user","content":[{"type":"image_url","image_url":{"detail":"low"}}]}`, "messages[1].content[0].image_url"},
		{"a picture that is a word", `{"role":"user","content":[{"type":"image_url","image_url":"https://a.example/1.png"}]}`, "messages[1].content[0].image_url"},
		{"a part with a member twice", `{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}`, "messages[1].content[0].text"},
		{"the service's own member", `{"role":"user","content":[{"type":"image_url","image_url":{"url":"a"},"image":"b"}]}`, "messages[1].content[0].image"},
	} {
		t.Run(c.story, func(t *testing.T) {
			mustRefuse(t, `{"model":"llm-max","messages":[{"role":"system","content":"Be brief."},`+c.message+`]}`, c.param)
		})
	}
}
