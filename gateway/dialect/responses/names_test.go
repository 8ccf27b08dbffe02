package responses

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

// given is the JSON of tools, each a name with its namespace before a colon, if it has one.
func given(names ...string) string {
	list := make([]string, len(names))
	for i, name := range names {
		space, inner, in := strings.Cut(name, ":")
		if list[i] = fmt.Sprintf(`{"type":"function","name":%q}`, name); in {
			list[i] = fmt.Sprintf(`{"type":"namespace","name":%q,"tools":[{"type":"function","name":%q}]}`, space, inner)
		}
	}
	return `{"model":"m","input":"","tools":[` + strings.Join(list, ",") + `]}`
}

// Each tool has a name of its own at the service, which the service accepts, and its calls come back as calls of that tool.
func TestToolsOfNamespacesHaveNamesOfTheirOwn(t *testing.T) {
	long := strings.Repeat("n", 62)
	for story, c := range map[string]struct{ given, want []string }{
		"no other has the name":        {[]string{"a", "files:read"}, []string{"a", "read"}},
		"the one before":               {[]string{"read", "files:read"}, []string{"read", "files__read"}},
		"the one behind":               {[]string{"files:read", "read"}, []string{"files__read", "read"}},
		"two namespaces":               {[]string{"files:read", "mail:read"}, []string{"read", "mail__read"}},
		"with the prefix another's":    {[]string{"files__read", "files:read", "read"}, []string{"files__read", "files__read_2", "read"}},
		"the prefix another's, behind": {[]string{"read", "files:read", "files__read"}, []string{"read", "files__read_2", "files__read"}},
		"twice in a namespace":         {[]string{"a:b", "a:b", "a:b", "a:b"}, []string{"b", "a__b", "a__b_2", "a__b_3"}},
		"no name for the service":      {[]string{"read", "my files.é:read"}, []string{"read", "my_files____read"}},
		"a long one":                   {[]string{"read", long + ":read"}, []string{"read", long[:58] + "__read"}},
		"long ones": {[]string{"read", long + ":read", long + ":read"},
			[]string{"read", long[:58] + "__read", long[:56] + "__read_2"}},
		"the same in an escape": {[]string{"read", "files:re\x61d"}, []string{"read", "files__read"}},
	} {
		t.Run(story, func(t *testing.T) {
			r, err := Read([]byte(given(c.given...)), dialecttest.Models)
			if err != nil {
				t.Fatal(err)
			}
			if got := nativeNames(t, r.Body); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			for i, native := range c.want {
				space, name, in := strings.Cut(c.given[i], ":")
				if !in {
					space, name = "", space
				}
				r.Dialect.Begin(dialecttest.Head)
				out, err := conversation.Whole(nil, r.Dialect, []byte(callsOf(native, "{}")))
				var answer struct{ Output []outputItem }
				if err != nil || json.Unmarshal(out, &answer) != nil || answer.Output[0].Name != name || answer.Output[0].Namespace != space {
					t.Errorf("%s came back as %s: %v", native, out, err)
				}
			}
		})
	}
}

func nativeNames(t *testing.T, body []byte) (names []string) {
	t.Helper()
	var native struct {
		Parameters struct {
			Tools []struct{ Function struct{ Name string } }
		}
	}
	if err := json.Unmarshal(body, &native); err != nil {
		t.Fatal(err)
	}
	for _, tool := range native.Parameters.Tools {
		names = append(names, tool.Function.Name)
	}
	return names
}

// Many tools of one name get names in a time that does not grow with the square of their number.
func TestManyToolsOfOneNameAreNamed(t *testing.T) {
	list := make([]string, 1024)
	for i := range list {
		list[i] = "a:b"
	}
	r, err := Read([]byte(given(list...)), dialecttest.Models)
	if err != nil {
		t.Fatal(err)
	}
	names := nativeNames(t, r.Body)
	slices.Sort(names)
	if names = slices.Compact(names); len(names) != len(list) || !regexp.MustCompile(`^[\w-]{1,64}$`).MatchString(names[1023]) {
		t.Errorf("%d names", len(names))
	}
}

// A refusal names a tool by its place in the client's request, in its param and in its message.
func TestToolsAreRefusedByTheClientsPlaces(t *testing.T) {
	for want, tools := range map[string]string{
		"tools[0].name":          `{"type":"function","name":"a.b"}`,
		"tools[1].name":          `{"type":"web_search"},{"type":"function","name":"a.b"}`,
		"tools[0].tools[1].name": `{"type":"namespace","name":"n","tools":[{"type":"function","name":"a"},{"type":"custom","name":"a.b"}]}`,
		"tools[3].parameters": `{"type":"web_search"},{"type":"namespace","name":"n","tools":[{"type":"mcp"},{"type":"function","name":"a"}]},` +
			`{"type":"namespace","name":"m","tools":[]},{"type":"function","name":"b","parameters":3}`,
	} {
		r, err := Read([]byte(`{"model":"m","input":"","tools":[`+tools+`]}`), dialecttest.Models)
		if err != nil {
			t.Fatal(err)
		}
		found := dialecttest.Judged(t, r).Violations
		if len(found) != 1 || r.Places(Param)(found[0].Field) != want {
			t.Errorf("%v, want %s", found, want)
		}
	}
}

// A namespace that is null is none: the first tool of the name is chosen, and no null is repeated.
func TestANullNamespaceIsNone(t *testing.T) {
	r, err := Read([]byte(`{"model":"m","input":"","tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]}],`+
		`"tool_choice":{"type":"function","name":"f","namespace":null}}`), dialecttest.Models)
	if err != nil || !strings.Contains(string(r.Body), `"tool_choice":{"type":"function","function":{"name":"f"}}`) ||
		!strings.Contains(string(r.Dialect.(*Answer).echo), `"tool_choice":{"type":"function","name":"f"}`) {
		t.Errorf("%+v, %v", r, err)
	}
}
