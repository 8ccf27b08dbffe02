package simulator

import "testing"

func TestModelRules(t *testing.T) {
	s := New(Config{Models: []string{"llm-*", "gen2.6-*"}})
	whole := func(body string) string { return body }
	const in = `"input":{"messages":[{"role":"user","content":"hi"}]}`
	judge(t, s, textPath, whole, nil, []verdict{
		{"known", `{"model":"llm-plus",` + in + `}`, ""},
		{"unknown", `{"model":"gpt",` + in + `}`, "ModelNotFound"},
		{"missing", `{` + in + `}`, "InvalidParameter model is required"},
		{"empty", `{"model":"",` + in + `}`, "InvalidParameter model is required"},
		{"no string", `{"model":7,` + in + `}`, "InvalidParameter model is required"},
		{"names are case-sensitive", `{"Model":"llm-plus",` + in + `}`, "InvalidParameter model is required"},
		{"no parameters", `{"model":"llm-plus",` + in + `}`, ""},
		{"null parameters", `{"model":"llm-plus","parameters":null,` + in + `}`, ""},
		{"parameters that are none", `{"model":"llm-plus","parameters":[],` + in + `}`, "parameters must be an object"},
	})
}
