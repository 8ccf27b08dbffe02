package chat

import (
	"math"
	"strings"

	"sluice/gateway/simulator/request"
)

// maxSample bounds the depth of a sample: schemas may refer to themselves.
const maxSample = 8

// sample makes a value that fits the common parts of a JSON Schema: type, properties, items, enum, const, default,
// minimum, minItems and the first branch of anyOf or oneOf. name hints at what a string should say.
func sample(schema request.Object, name string, depth int) any {
	for _, key := range []string{"const", "default"} {
		if v, ok := schema[key]; ok {
			return v
		}
	}
	if enum := schema.List("enum"); len(enum) > 0 {
		return enum[0]
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := schema.List(key); len(branches) > 0 && depth < maxSample {
			return sample(request.AsObject(branches[0]), name, depth+1)
		}
	}
	switch schemaType(schema) {
	case "object":
		return sampleObject(schema, depth)
	case "array":
		return sampleArray(schema, name, depth)
	case "integer":
		return math.Ceil(schemaMinimum(schema))
	case "number":
		return schemaMinimum(schema)
	case "boolean":
		return true
	case "null":
		return nil
	}
	return "a " + strings.ReplaceAll(strings.ReplaceAll(name, "_", " "), "-", " ")
}

// schemaType is the type, the first of several, or the one that the members imply.
func schemaType(schema request.Object) string {
	if t := schema.Text("type"); t != "" {
		return t
	}
	if several := schema.List("type"); len(several) > 0 {
		t, _ := several[0].(string)
		return t
	}
	if schema.Child("properties") != nil {
		return "object"
	}
	return "string"
}

func schemaMinimum(schema request.Object) float64 {
	if m, ok := schema["minimum"].(float64); ok {
		return m
	}
	return 1
}

func sampleObject(schema request.Object, depth int) any {
	out := map[string]any{}
	if depth < maxSample {
		for name, property := range schema.Child("properties") {
			out[name] = sample(request.AsObject(property), name, depth+1)
		}
	}
	return out
}

func sampleArray(schema request.Object, name string, depth int) any {
	// More elements than this would let a request of a few bytes ask for a huge answer.
	const most = 4
	out := []any{}
	if depth < maxSample {
		for range min(max(schema.Integer("minItems", 1), 1), most) {
			out = append(out, sample(schema.Child("items"), name, depth+1))
		}
	}
	return out
}
