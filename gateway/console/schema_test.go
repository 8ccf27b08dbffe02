package console

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// document is openapi.json.
var document = func() (d map[string]any) {
	if err := json.Unmarshal(openAPIDocument, &d); err != nil {
		panic(err)
	}
	return d
}()

// at follows names into the document; nil if they lead nowhere.
func at(tree any, names ...string) any {
	for _, name := range names {
		m, ok := tree.(map[string]any)
		if !ok {
			return nil
		}
		tree = m[name]
	}
	return tree
}

// resolved follows a reference.
func resolved(schema map[string]any) map[string]any {
	if ref, ok := schema["$ref"].(string); ok {
		target, _ := at(document, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(map[string]any)
		return target
	}
	return schema
}

// holdToDocument checks an answer against the document.
func holdToDocument(t *testing.T, method, path string, a answer) {
	t.Helper()
	below := strings.TrimPrefix(path, Prefix)
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, route := range routes {
		if _, ok := route.match(below); !ok || route.method != method {
			continue
		}
		response, _ := at(document, "paths", route.path, strings.ToLower(method), "responses", strconv.Itoa(a.status)).(map[string]any)
		if response == nil {
			t.Errorf("%s %s answers %d, which is not in the document", method, route.path, a.status)
			return
		}
		media := a.header.Get("Content-Type")
		schema, _ := at(response, "content", media, "schema").(map[string]any)
		if schema == nil {
			if a.body != "" || response["content"] != nil {
				t.Errorf("%s %s answers %d as %q, which is not in the document", method, route.path, a.status, media)
			}
			return
		}
		var value any
		d := json.NewDecoder(strings.NewReader(a.body))
		d.UseNumber()
		if err := d.Decode(&value); err != nil {
			t.Errorf("%s %s: %v", method, route.path, err)
		}
		if err := valid(schema, value); err != nil {
			t.Errorf("%s %s answers %d, which is not as in the document: %v\n%s", method, route.path, a.status, err, a.body)
		}
		return
	}
	if a.status < http.StatusBadRequest {
		t.Errorf("%s %s answers %d and is not in the document", method, path, a.status)
	}
}

// valid checks a value by a schema, as far as the document uses JSON Schema.
func valid(schema map[string]any, value any) error {
	schema = resolved(schema)
	for keyword, want := range schema {
		check := keywords[keyword]
		if check == nil {
			return fmt.Errorf("the test does not know %q", keyword)
		}
		if err := check(want, value, schema); err != nil {
			return err
		}
	}
	return nil
}

// keywords are those of the document's schemas. It is filled below, because they need each other.
var keywords map[string]func(want, value any, schema map[string]any) error

func init() {
	ignore := func(any, any, map[string]any) error { return nil }
	keywords = map[string]func(want, value any, schema map[string]any) error{
		"description": ignore, "default": ignore, "type": checkType, "format": checkFormat, "enum": checkEnum, "const": checkConst,
		"required": checkRequired, "properties": checkProperties, "additionalProperties": ignore, "items": checkItems, "oneOf": checkOneOf,
		"minimum": checkMinimum, "maximum": ignore, "maxLength": ignore, "minLength": ignore, "minItems": ignore, "maxItems": ignore,
	}
}

func typesOf(want any) (types []string) {
	if one, ok := want.(string); ok {
		return []string{one}
	}
	for _, one := range want.([]any) {
		types = append(types, one.(string))
	}
	return types
}

func checkType(want, value any, _ map[string]any) error {
	var is []string
	switch value := value.(type) {
	case nil:
		is = []string{"null"}
	case bool:
		is = []string{"boolean"}
	case string:
		is = []string{"string"}
	case []any:
		is = []string{"array"}
	case map[string]any:
		is = []string{"object"}
	case json.Number:
		is = []string{"number"}
		if n, ok := new(big.Rat).SetString(value.String()); ok && n.IsInt() {
			is = append(is, "integer")
		}
	}
	for _, one := range typesOf(want) {
		if slices.Contains(is, one) {
			return nil
		}
	}
	return fmt.Errorf("%v is not %v", value, want)
}

func checkFormat(want, value any, _ map[string]any) error {
	text, ok := value.(string)
	forms := map[any]string{"date-time": time.RFC3339, "date": time.DateOnly}
	if _, err := time.Parse(forms[want], text); ok && err != nil {
		return err
	}
	return nil
}

func checkEnum(want, value any, _ map[string]any) error {
	if !slices.Contains(want.([]any), value) {
		return fmt.Errorf("%v is not one of %v", value, want)
	}
	return nil
}

func checkConst(want, value any, _ map[string]any) error {
	if text, ok := value.(string); !ok || text != want {
		return fmt.Errorf("%v is not %v", value, want)
	}
	return nil
}

func checkRequired(want, value any, _ map[string]any) error {
	members, _ := value.(map[string]any)
	for _, name := range want.([]any) {
		if _, ok := members[name.(string)]; !ok {
			return fmt.Errorf("%v is missing", name)
		}
	}
	return nil
}

func checkProperties(want, value any, schema map[string]any) error {
	members, _ := value.(map[string]any)
	for name, member := range members {
		known, _ := at(want, name).(map[string]any)
		if known == nil && schema["additionalProperties"] == false {
			return fmt.Errorf("%s is not in the document", name)
		}
		if known != nil {
			if err := valid(known, member); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func checkItems(want, value any, _ map[string]any) error {
	list, _ := value.([]any)
	for i, item := range list {
		if err := valid(want.(map[string]any), item); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return nil
}

func checkOneOf(want, value any, _ map[string]any) error {
	var errs []error
	for _, one := range want.([]any) {
		if err := valid(one.(map[string]any), value); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) != len(want.([]any))-1 {
		return fmt.Errorf("not one of the alternatives: %v", errs)
	}
	return nil
}

func checkMinimum(want, value any, _ map[string]any) error {
	number, ok := value.(json.Number)
	if !ok {
		return nil
	}
	if n, err := number.Float64(); err != nil || n < want.(float64) {
		return fmt.Errorf("%v is below %v", value, want)
	}
	return nil
}
