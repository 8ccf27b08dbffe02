package policy_test

import (
	"strings"
	"testing"

	"sluice/policy"
)

// families are the patterns of the settings' defaults.
var families = policy.Families{
	SyncImage: []policy.Pattern{"llm-image*"}, EditImage: []policy.Pattern{"gen2.6-image*"},
}

func TestKind(t *testing.T) {
	for _, tt := range []struct {
		endpoint policy.Endpoint
		body     string
		want     policy.Kind
	}{
		{policy.EndpointText, `{"model":"llm-max"}`, policy.KindText},
		{policy.EndpointText, `{"model":"llm-image"}`, policy.KindText},
		{policy.EndpointMultimodal, `{"model":"llm-vl"}`, policy.KindChat},
		{policy.EndpointMultimodal, `{"model":"llm-image-2.0-pro-2026-06-22"}`, policy.KindImage},
		{policy.EndpointMultimodal, `{"model":"llm-vl","parameters":{"enable_interleave":true}}`, policy.KindChat},
		{policy.EndpointMultimodal, `{"parameters":{"enable_interleave":true},"model":"gen2.6-image"}`, policy.KindInterleaved},
		{policy.EndpointMultimodal, `{"model":"gen2.6-image","parameters":{"enable_interleave":"true"}}`, policy.KindImage},
		{policy.EndpointMultimodal, `{"model":"gen2.6-image"}`, policy.KindImage},
		{policy.EndpointImage, `{"model":"gen2.6-image","parameters":{"enable_interleave":true}}`, policy.KindTask},
		{policy.EndpointImage, `{"model":"gen2.5-t2i"}`, policy.KindTask},
	} {
		q, err := policy.Read(&families, policy.Call{Endpoint: tt.endpoint}, []byte(tt.body))
		if err != nil || q.Kind != tt.want {
			t.Errorf("%s %s: %q, %v; want %q", tt.endpoint, tt.body, q.Kind, err, tt.want)
		}
	}
}

// TestImagesOutsideThePatterns: on the multimodal path, parameters that only image models have make a request for a
// model in no pattern one for images: form rules only, absent n holds 4. A pattern decides the kind of its models.
func TestImagesOutsideThePatterns(t *testing.T) {
	for _, tt := range []struct {
		model, parameters string
		endpoint          policy.Endpoint
		kind              policy.Kind
		images            int
		broke             string
	}{
		{"gen2.6-t2i", `"n":6`, policy.EndpointMultimodal, policy.KindImage, 6, ""},
		{"gen2.6-t2i", `"size":"1280*1280"`, policy.EndpointMultimodal, policy.KindImage, 4, ""},
		{"gen2.6-t2i", `"size":"1280*1280","n":1`, policy.EndpointMultimodal, policy.KindImage, 1, ""},
		{"gen2.6-t2i", `"watermark":false,"max_tokens":-1`, policy.EndpointMultimodal, policy.KindImage, 4, ""},
		{"gen2.6-t2i", `"prompt_extend":true`, policy.EndpointMultimodal, policy.KindImage, 4, ""},
		{"gen2.6-t2i", `"negative_prompt":""`, policy.EndpointMultimodal, policy.KindImage, 4, ""},
		{"gen2.6-t2i", `"size":"a","n":0`, policy.EndpointMultimodal, policy.KindImage, 4, "image.n"},
		{"gen2.6-t2i", `"n":99999999999`, policy.EndpointMultimodal, policy.KindImage, 1<<31 - 1, "image.n"},

		{"llm-new", `"n":4`, policy.EndpointMultimodal, policy.KindChat, 0, ""},
		{"llm-new", `"n":"6"`, policy.EndpointMultimodal, policy.KindChat, 0, "text.n"},
		{"llm-new", `"size":null,"watermark":null`, policy.EndpointMultimodal, policy.KindChat, 0, ""},
		{"llm-new", `"watermark":false,"temperature":9`, policy.EndpointMultimodal, policy.KindChat, 0, "text.temperature"},
		{"llm-new", `"watermark":false,"top_p":7`, policy.EndpointMultimodal, policy.KindChat, 0, "text.top_p"},
		{"llm-new", `"top_p":7,"temperature":9,"n":100,"seed":-5`, policy.EndpointMultimodal, policy.KindChat, 0,
			"text.temperature text.top_p text.seed text.n"},
		{"llm-new", `"watermark":false,"n":5,"tools":[]`, policy.EndpointMultimodal, policy.KindChat, 0, "text.n"},
		{"llm-vl", `"n":6,"size":"1024*1024"`, policy.EndpointMultimodal, policy.KindChat, 0, "text.n text.n.vision"},
		{"llm-think", `"n":6,"enable_thinking":false`, policy.EndpointMultimodal, policy.KindChat, 0, "text.n"},
		{"llm-reason", `"n":6`, policy.EndpointMultimodal, policy.KindChat, 0, "text.n"},
		{"gen2.6-t2i", `"n":6,"size":"1280*1280"`, policy.EndpointText, policy.KindText, 0, "text.n text.content.array?"},
		{"llm-image", `"size":"1280*1280"`, policy.EndpointMultimodal, policy.KindImage, 1, ""},
	} {
		q, err := policy.Read(&all, policy.Call{Endpoint: tt.endpoint}, []byte(chatParameters(tt.model, tt.parameters)))
		if err != nil {
			t.Fatal(err)
		}
		broke := strings.Join(ids(policy.Judge(nil, nil, &q)), " ")
		if q.Kind != tt.kind || q.Images != tt.images || broke != tt.broke {
			t.Errorf("%s %s by %s: kind %s, %d images, broke %q; want %s, %d, %q", tt.model, tt.parameters, tt.endpoint, q.Kind, q.Images, broke,
				tt.kind, tt.images, tt.broke)
		}
		if guessed := tt.kind == policy.KindImage && tt.model != "llm-image"; q.Guessed != guessed {
			t.Errorf("%s %s: guessed %v", tt.model, tt.parameters, q.Guessed)
		}
	}
}

// TestAChatIsNoGuess: a parameter that only chats have outweighs one of images, so that no chat rule is switched off.
func TestAChatIsNoGuess(t *testing.T) {
	const user, system, answer = `{"role":"user","content":[{"text":"a"}]}`, `{"role":"system","content":"b"}`,
		`{"role":"assistant","content":"c"}`
	for messages, guessed := range map[string]bool{
		user: true, system + "," + user: false, user + "," + answer + "," + user: false, user + "," + user: false, system: false,
	} {
		body := `{"model":"llm-new","input":{"messages":[` + messages + `]},"parameters":{"watermark":false,"n":8}}`
		q, err := policy.Read(&all, policy.Call{Endpoint: policy.EndpointMultimodal}, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if refused := len(policy.Judge(nil, nil, &q).Violations) > 0; q.Guessed != guessed || refused == guessed {
			t.Errorf("%s: guessed %v, refused %v", messages, q.Guessed, refused)
		}
	}
}

// TestAbsentNOfAGuess: a possible text is held as one answer, possible images as four.
func TestAbsentNOfAGuess(t *testing.T) {
	for parameters, want := range map[string][2]int{`"size":"1024*1024"`: {1, 4}, `"size":"1024*1024","n":3`: {3, 3}} {
		q, err := policy.Read(&all, policy.Call{Endpoint: policy.EndpointMultimodal}, []byte(chatParameters("gen2.6-t2i", parameters)))
		if err != nil || q.N != want[0] || q.Images != want[1] {
			t.Errorf("%s: %d answers, %d images, %v; want %v", parameters, q.N, q.Images, err, want)
		}
	}
}
