package openai

import "testing"

func TestModels(t *testing.T) {
	got := string(AppendModels(nil, []string{"llm-max", `a"b`}, 1772600767, "sluice"))
	want := `{"object":"list","data":[{"id":"llm-max","object":"model","created":1772600767,"owned_by":"sluice"},{"id":"a\"b","object":"model","created":1772600767,"owned_by":"sluice"}]}`
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := string(AppendModels(nil, nil, 0, "")); got != `{"object":"list","data":[]}` {
		t.Error(got)
	}
	if got := string(AppendError(nil, NoModel("x"))); got != `{"error":{"message":"The model \"x\" does not exist or you do not have access to it.","type":"not_found_error","param":"model","code":"model_not_found"}}` {
		t.Error(got)
	}
}

// Without functions a translation has no aliases and knows no kinds.
func TestNoModels(t *testing.T) {
	r, err := Chat([]byte(`{"model":"gpt-4o","messages":[]}`), &Models{})
	if err != nil || string(r.Body) != `{"model":"gpt-4o","input":{"messages":[]},"parameters":{"result_format":"message"}}` {
		t.Errorf("%s, %v", r.Body, err)
	}
	if r, err = Generation([]byte(`{"model":"llm-image","prompt":"p"}`), &Models{}); err != nil || !r.Async {
		t.Errorf("%v, %v", r, err)
	}
}
