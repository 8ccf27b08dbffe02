package chat

import (
	"encoding/json"
	"testing"

	"sluice/gateway/simulator/request"
)

func TestSample(t *testing.T) {
	for _, tt := range []struct {
		name, schema, want string
	}{
		{"string", `{"type":"string"}`, `"a river name"`},
		{"nothing said", `{}`, `"a river name"`},
		{"integer", `{"type":"integer"}`, `1`},
		{"integer from a broken minimum", `{"type":"integer","minimum":2.5}`, `3`},
		{"number", `{"type":"number","minimum":2.5}`, `2.5`},
		{"boolean", `{"type":"boolean"}`, `true`},
		{"null", `{"type":"null"}`, `null`},
		{"first of several types", `{"type":["integer","null"]}`, `1`},
		{"enum", `{"enum":["low","high"]}`, `"low"`},
		{"const", `{"const":7}`, `7`},
		{"default", `{"type":"integer","default":9}`, `9`},
		{"object", `{"type":"object","properties":{"b":{"type":"boolean"},"a":{"type":"integer"}}}`, `{"a":1,"b":true}`},
		{"object not so called", `{"properties":{"a":{"type":"integer"}}}`, `{"a":1}`},
		{"property names speak", `{"properties":{"gate-width_m":{"type":"string"}}}`, `{"gate-width_m":"a gate width m"}`},
		{"array", `{"type":"array","items":{"type":"integer"}}`, `[1]`},
		{"array of three", `{"type":"array","items":{"type":"integer"},"minItems":3}`, `[1,1,1]`},
		{"array without end", `{"type":"array","items":{"type":"integer"},"minItems":1000000}`, `[1,1,1,1]`},
		{"any of", `{"anyOf":[{"type":"integer"},{"type":"string"}]}`, `1`},
		{"one of", `{"oneOf":[{"type":"boolean"}]}`, `true`},
		{"empty enum", `{"enum":[],"type":"integer"}`, `1`},
		{"broken branch", `{"anyOf":[7]}`, `"a river name"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var schema request.Object
			if err := json.Unmarshal([]byte(tt.schema), &schema); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(sample(schema, "river_name", 0))
			if err != nil || string(got) != tt.want {
				t.Errorf("sample of %s is %s (%v), want %s", tt.schema, got, err, tt.want)
			}
		})
	}
}

func TestSampleDepthIsBounded(t *testing.T) {
	for name, build := range map[string]func(request.Object) request.Object{
		"objects": func(in request.Object) request.Object {
			return request.Object{"properties": map[string]any{"p": map[string]any(in)}}
		},
		"arrays": func(in request.Object) request.Object {
			return request.Object{"type": "array", "items": map[string]any(in)}
		},
		"branches": func(in request.Object) request.Object { return request.Object{"anyOf": []any{map[string]any(in)}} },
	} {
		schema := request.Object{"type": "string"}
		for range 1000 {
			schema = build(schema)
		}
		out, err := json.Marshal(sample(schema, "x", 0))
		if err != nil || len(out) > 100 {
			t.Errorf("a deep schema of %s makes %d bytes (%v)", name, len(out), err)
		}
	}
}
