package strictjson

import (
	"testing"
	"unicode/utf8"
)

func TestEscapes(t *testing.T) {
	for escaped, want := range map[string]rune{
		`\"`: '"', `\\`: '\\', `\/`: '/', `\b`: '\b', `\f`: '\f', `\n`: '\n', `\r`: '\r', `\t`: '\t', `\u0041`: 'A',
		`\u00e9`: 'é', `\u00E9`: 'é', `\u0000`: 0, `\uffff`: 0xFFFF, `\ud83d\ude00`: '😀', `\uD83D\uDE00`: '😀', `\ufffd`: 0xFFFD,
		`\udbff\udfff`: utf8.MaxRune,
	} {
		r, size, fault := escape([]byte(escaped + "rest"))
		if r != want || size != len(escaped) || fault != "" {
			t.Errorf("%s: %q, %d bytes, %s", escaped, r, size, fault)
		}
	}
	for escaped, want := range map[string]Fault{
		`\`: FaultSyntax, `\x41`: FaultSyntax, `\U0041`: FaultSyntax, `\'`: FaultSyntax, `\0`: FaultSyntax, `\u`: FaultSyntax,
		`\u004`: FaultSyntax, `\u00g1`: FaultSyntax, `\u 041`: FaultSyntax, `\u+041`: FaultSyntax, `\ud800`: FaultSurrogate,
		`\ud800\n`: FaultSurrogate, `\ud800\u`: FaultSyntax, `\ud800\u00`: FaultSyntax, `\ud800A`: FaultSurrogate,
		`\udc00`: FaultSurrogate, `\udc00\ud800`: FaultSurrogate, `\ud800\ud800`: FaultSurrogate, `\ud800\u0041`: FaultSurrogate,
	} {
		if r, size, fault := escape([]byte(escaped)); fault != want {
			t.Errorf("%s: %q, %d bytes, %s, want %s", escaped, r, size, fault, want)
		}
	}
}
