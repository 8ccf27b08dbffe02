package forms_test

import (
	"errors"
	"strings"
	"testing"

	"sluice/policy"
	"sluice/policy/forms"
	"sluice/policy/strictjson"
)

// What a request may cost is read of each form.
func TestModelsAndBoundsAreReadInEachForm(t *testing.T) {
	picture := strings.Repeat("iVBORw0KGgo", 1000)
	for name, tt := range map[string]struct {
		form forms.Form
		call policy.Call
		body string
		want policy.Request
	}{
		"native": {
			forms.Native, policy.Call{}, `{"model":"llm-max","input":{"messages":[{"role":"user","content":"riverriver42"}]},` +
				`"parameters":{"max_tokens":9}}`,
			policy.Request{Model: "llm-max", N: 1, TextLength: 3 + 16, MaxTokens: most(9)},
		},
		"a native task": {
			forms.Native, policy.Call{Async: []string{"enable"}}, `{"model":"video-1","input":{"prompt":"riverriver42"},` +
				`"parameters":{"size":"1280*720"}}`,
			policy.Request{Model: "video-1", N: 1, Images: 1, TextLength: 3, Size: "1280*720"},
		},
		"chat": {
			forms.OpenAI, policy.Call{}, `{"messages":[{"role":"user","content":"riverriver42"}],"n":3,"stream":true,"max_tokens":5,` +
				`"max_completion_tokens":9,"model":"llm-\u006dax"}`,
			policy.Request{Model: "llm-max", N: 3, Stream: true, TextLength: 4, MaxTokens: most(9)},
		},
		"a picture in a chat is no text": {
			forms.OpenAI, policy.Call{}, `{"model":"m","messages":[{"content":[{"image_url":{"url":"data:image/png;base64,` + picture + `"}}]}]}`,
			policy.Request{Model: "m", N: 1},
		},
		"a small picture is none, either": {
			forms.OpenAI, policy.Call{}, `{"model":"m","messages":[{"content":[{"image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}]}`,
			policy.Request{Model: "m", N: 1},
		},
		"a text that begins like a picture": {
			forms.OpenAI, policy.Call{}, `{"model":"m","messages":[{"content":"data:image/png;base64, river"},{"content":"data:;base64,水水"},` +
				`{"content":"data: river"}]}`,
			policy.Request{Model: "m", N: 1, TextLength: 13 + 2},
		},
		"vectors below a path of chats": {
			forms.OpenAI, policy.Call{}, `{"model":"m","input":["riverriver42","水"]}`, policy.Request{Model: "m", N: 1, TextLength: 4},
		},
		"the best of several completions": {
			forms.OpenAI, policy.Call{}, `{"model":"m","prompt":"riverriver42","best_of":5,"n":2,"max_tokens":9}`,
			policy.Request{Model: "m", N: 5, TextLength: 3, MaxTokens: most(9)},
		},
		"responses": {
			forms.Responses, policy.Call{}, `{"model":"m","input":"riverriver42","instructions":"水","max_output_tokens":9}`,
			policy.Request{Model: "m", N: 1, TextLength: 4, MaxTokens: most(9)},
		},
		"messages": {
			forms.Messages, policy.Call{}, `{"model":"m","system":"river","messages":[{"content":[{"type":"image","source":{"data":"` + picture +
				`"}}]}],"max_tokens":32000,"stream":false}`,
			policy.Request{Model: "m", N: 1, TextLength: 3, MaxTokens: most(32000)},
		},
		"bounds of another type count as absent": {forms.Messages, policy.Call{}, `{"model":"m","max_tokens":-1,"n":"x"}`,
			policy.Request{Model: "m", N: 1}},
	} {
		q, err := forms.Read(tt.form, tt.call, forms.Bounds{}, []byte(tt.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := policy.Request{Model: q.Model, N: q.N, Images: q.Images, Stream: q.Stream, TextLength: q.TextLength, MaxTokens: q.MaxTokens,
			Size: q.Size}
		if q.Kind != policy.KindOther || q.Kind == tt.want.Kind || !same(&got, &tt.want) {
			t.Errorf("%s: kind %s, %+v\nwant %+v", name, q.Kind, got, tt.want)
		}
	}
}

// What is used in the background is in another answer.
func TestRequestsInTheBackgroundAreRefused(t *testing.T) {
	for body, want := range map[string]error{
		`{"model":"m","background":true}`: forms.ErrBackground, `{"model":"m","background":"true"}`: forms.ErrBackground,
		`{"model":"m","background":1}`: forms.ErrBackground, `{"model":"m","background":false}`: nil, `{"model":"m","background":null}`: nil,
	} {
		if _, err := forms.Read(forms.Responses, policy.Call{}, forms.Bounds{}, []byte(body)); !errors.Is(err, want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func same(a, b *policy.Request) bool {
	return a.Model == b.Model && a.N == b.N && a.Images == b.Images && a.Stream == b.Stream && a.TextLength == b.TextLength &&
		a.MaxTokens == b.MaxTokens && a.Size == b.Size
}

func most(n int64) policy.Maybe[int64] { return policy.Maybe[int64]{Value: n, Set: true} }

func TestPathsAreReadWithTheirForms(t *testing.T) {
	for text, want := range map[string]forms.Path{
		"uploads":        {Prefix: "uploads", Form: forms.Opaque},
		"uploads=opaque": {Prefix: "uploads", Form: forms.Opaque},
		"a/b=native":     {Prefix: "a/b", Form: forms.Native},
	} {
		if p, ok := forms.ReadPath(text); !ok || p != want || p.Form.Governed() != (want.Form == forms.Native) {
			t.Errorf("%s is %+v", text, p)
		} else if again, ok := forms.ReadPath(p.String()); !ok || again != p {
			t.Errorf("%s is written %s", text, p)
		}
	}
	for _, text := range []string{"a=", "a=chat", "a=native=native", "=x"} {
		if p, ok := forms.ReadPath(text); ok {
			t.Errorf("%s is %+v", text, p)
		}
	}
}

// FuzzRead: no body is read that is not one strict object with a model, in whatever form, and no estimate is negative.
func FuzzRead(f *testing.F) {
	for _, body := range []string{`{"model":"m","messages":[{"content":"a"}],"max_tokens":1}`, `{"model":"m","input":"\ud83d\ude00"}`,
		`{"model":"m","n":1e9}`, `{"model":"m","model":"n"}`} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, form := range forms.All {
			if !form.Governed() {
				continue
			}
			q, err := forms.Read(form, policy.Call{}, forms.Bounds{}, []byte(body))
			var fault *strictjson.Error
			if err != nil && !errors.Is(err, forms.ErrModel) && !errors.Is(err, forms.ErrBackground) && !errors.As(err, &fault) {
				t.Errorf("%s: %v", form, err)
			}
			if err == nil && (q.Model == "" || q.TextLength < 0 || q.MaxTokens.Value < 0 || q.N < 1 || q.Images < 0) {
				t.Errorf("%s: %+v", form, q)
			}
		}
	})
}
