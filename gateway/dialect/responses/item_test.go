package responses

import (
	"bytes"
	"encoding/json"
	"testing"

	"sluice/gateway/dialect/dialecttest"
	"sluice/gateway/rawjson"
)

// FuzzInput: of any arguments the input is a text in JSON, wherever they are cut, and that which a whole document has.
func FuzzInput(f *testing.F) {
	for _, seed := range []string{`{"input":"*** a\n\u00e9\ud83d\ude00"}`, `{"input":"\ud83d\u12`, "{ \"input\" : \"\t\\q", `{"b":1}`} {
		f.Add([]byte(seed), uint16(9))
	}
	f.Fuzz(func(t *testing.T, arguments []byte, at uint16) {
		raw := rawjson.Inside(rawjson.Quote(nil, arguments))
		var whole, cut input
		want := whole.read(nil, raw)
		n := min(int(at), len(raw))
		if escape := bytes.LastIndexByte(raw[:n], '\\'); escape >= 0 { // the service cuts no escape of its own
			n = escape
			for escape > 0 && raw[escape-1] == '\\' {
				escape--
				n = escape
			}
		}
		got := cut.read(cut.read(nil, raw[:n]), raw[n:])
		if !bytes.Equal(got, want) || whole.opened != cut.opened {
			t.Fatalf("%q, cut at %d: %q", want, n, got)
		}
		var document struct{ Input *string }
		var text string
		quoted := append(append([]byte{'"'}, want...), '"')
		dialecttest.MustBeJSON(t, quoted)
		if whole.opened && json.Unmarshal(arguments, &document) == nil && json.Unmarshal(quoted, &text) == nil &&
			bytes.Count(bytes.ToLower(arguments), []byte("input")) == 1 && text != *document.Input {
			t.Fatalf("%q of %s", text, arguments)
		}
	})
}
