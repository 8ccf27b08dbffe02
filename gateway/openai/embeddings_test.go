package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/gateway/conversation"
)

// The service's error in place of a success says why there are no vectors.
func TestErrorsInPlaceOfVectorsAreTold(t *testing.T) {
	r, err := Embeddings([]byte(`{"model":"vectors","input":"a"}`), new(conversation.Models))
	if err != nil {
		t.Fatal(err)
	}
	for native, want := range map[string]conversation.Refusal{
		`{"code":"InvalidParameter.Dimension","message":"No."}`:  {Status: 400, Code: "InvalidParameter.Dimension", Message: "No.", Told: true},
		`{"code":"InternalError.Timeout","message":"Too slow."}`: {Status: 500, Code: "InternalError.Timeout", Message: "Too slow.", Told: true},
		`{"code":"","message":"No."}`:                            *conversation.Unreadable(),
		`{"output":{},"code":"InternalError"}`:                   *conversation.Unreadable(),
	} {
		out, err := r.Whole(nil, []byte(native))
		if got, ok := errors.AsType[*conversation.Refusal](err); !ok || *got != want || len(out) > 0 {
			t.Errorf("%s became %+v %s, want %+v", native, got, out, want)
		}
	}
}

// Clients take the vectors by their places in the list, so they are in the order of the texts, whatever the service's order is.
func TestVectorsAreInTheOrderOfTheirTexts(t *testing.T) {
	r, err := Embeddings([]byte(`{"model":"vectors","input":["a","b","c"]}`), new(conversation.Models))
	if err != nil {
		t.Fatal(err)
	}
	const usage = `},"usage":{"total_tokens":3}}`
	for native, want := range map[string]string{
		`{"text_index":2,"embedding":[3]},{"text_index":0,"embedding":[1]},{"text_index":1,"embedding":[2]}`: "0 [1], 1 [2], 2 [3]",
		`{"embedding":[1]},{"embedding":[2]}`:                                    "0 [1], 1 [2]",
		`{"text_index":null,"embedding":[1]},{"text_index":"1","embedding":[2]}`: "0 [1], 1 [2]",
	} {
		out, err := r.Whole(nil, []byte(`{"output":{"embeddings":[`+native+`]`+usage))
		var list struct {
			Data []struct {
				Index     int
				Embedding []float64
			}
		}
		if err := cmp.Or(err, json.Unmarshal(out, &list)); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var got []string
		for _, one := range list.Data {
			got = append(got, fmt.Sprint(one.Index, one.Embedding))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s became %v, want %s", native, got, want)
		}
	}
}
