package picture

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"sluice/policy/strictjson"
)

var dataForm = regexp.MustCompile(`^(?i:data):([A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+);(?i:base64),([A-Za-z0-9+/]+)(={0,2})$`)

// FuzzDataURI compares the parser with a regular expression and the standard decoder, for several spellings of the
// string in JSON, and with and without known base64.
func FuzzDataURI(f *testing.F) {
	for _, s := range []string{
		"data:image/png;base64,iVBORw0KGgo=", "data:image/jpeg;base64,/9j/4AAQSkZJRg==", "DATA:IMAGE/PNG;BASE64,AAAA",
		"data:;base64,AAAA", "data:image/png;charset=x;base64,AAAA", "data:image/png;base64,AA\nAA", "data:image/png;base64,AAA",
		"data:image/png;base64,A===", "data:image/png;base64,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-AAA", "http://a/b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		want := dataForm.FindStringSubmatch(s)
		legal := want != nil && len(want[1]) <= maxMedia && base64Form(want[2], want[3])
		plain, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, spelling := range []string{string(plain), strings.NewReplacer("/", `\/`, "+", `\u002B`).Replace(string(plain))} {
			var sc strictjson.Scanner
			sc.Reset([]byte(spelling))
			known := Base64Ahead([]byte(spelling)[1:])
			str, err := sc.StringAfter(known)
			if err != nil || len(sc.Rest()) > 0 {
				t.Fatalf("%s: %v, %+v", spelling, err, str)
			}
			raw := sc.Raw(str)
			u, ok := ParseDataURI(raw, str.Escaped, known)
			again, okAgain := ParseDataURI(raw, str.Escaped, 0)
			if ok != legal || ok != okAgain || ok && (u.Size != again.Size || u.Padded != again.Padded) {
				t.Fatalf("%s: taken %v, without knowledge %v, want %v", spelling, ok, okAgain, legal)
			}
			if !ok {
				continue
			}
			decoded, err := base64.RawStdEncoding.DecodeString(want[2])
			if err != nil || u.Size != len(decoded) || u.Media != strings.ToLower(want[1]) {
				t.Fatalf("%s: %d bytes of %s, want %d of %s, %v", spelling, u.Size, u.Media, len(decoded), want[1], err)
			}
		}
	})
}

// base64Form reports whether the padding may follow the symbols: it is complete or absent.
func base64Form(symbols, pads string) bool {
	return len(symbols)%4 != 1 && (pads == "" || (len(symbols)+len(pads))%4 == 0)
}
