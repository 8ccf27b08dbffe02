package gateway_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sluice/policy/event"
)

// members are the names of an object's members, in order.
func members(t *testing.T, object string) (names []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(object))
	_, _ = d.Token()
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			t.Fatalf("%s: %v", object, err)
		}
		names = append(names, name.(string))
	}
	return names
}

// A request that is settled is told to the hooks that name that, with the members of its log line; to others nothing is told.
func TestASettledRequestIsToldWhoeverNamesIt(t *testing.T) {
	for about, tt := range map[string]struct {
		upstream func(*plan)
		body     string
		flag     string
	}{
		"whole":   {func(*plan) {}, textBody, "exact"},
		"refused": {says(400, "application/json", `{"code":"InvalidParameter","message":"no"}`, nil), textBody, "refused"},
	} {
		for _, pattern := range []event.Pattern{"request.settled", "*", "request.*", "task.*"} {
			t.Run(about+" "+string(pattern), func(t *testing.T) {
				h := build(t, func(p *plan) {
					tt.upstream(p)
					p.to = func(team string, of event.Type, _ string) []event.Target {
						return event.Wanting(nil, team, []event.Hook{{ID: "jobs", Events: []event.Pattern{pattern}}}, of)
					}
				})
				h.ask("POST", textPath, tt.body)
				record := h.records.await(t, 1)[0]
				told := h.ends("search")
				if pattern != "request.settled" {
					if told != nil {
						t.Errorf("told %q", told)
					}
					return
				}
				if len(told) != 1 {
					t.Fatalf("told %q", told)
				}
				kind, data, _ := strings.Cut(told[0], " ")
				var is, logged map[string]any
				if err := json.Unmarshal([]byte(data), &is); err != nil || kind != "request.settled" {
					t.Fatal(kind, err)
				}
				line := string(record.AppendLine(nil))
				if err := json.Unmarshal([]byte(line), &logged); err != nil {
					t.Fatal(err)
				}
				if is["cost"].(map[string]any)["flag"] != tt.flag || strings.Contains(data, "rivers") {
					t.Error(data)
				}
				for _, name := range []string{"level", "msg"} {
					delete(logged, name)
				}
				if a, b := slices.Sorted(maps.Keys(is)), slices.Sorted(maps.Keys(logged)); !slices.Equal(a, b) {
					t.Errorf("it has %v, the line %v", a, b)
				}
				for name := range is {
					a, _ := json.Marshal(is[name])
					if b, _ := json.Marshal(logged[name]); string(a) != string(b) && name != "dur_ms" && name != "overhead_ms" { // it ends later
						t.Errorf("%s is %s, in the line %s", name, a, b)
					}
				}
				page, err := os.ReadFile("../docs/events.md")
				if err != nil {
					t.Fatal(err)
				}
				_, example, _ := strings.Cut(string(page), "\nrequest.settled ")
				example, _, _ = strings.Cut(example, "\n")
				got := slices.DeleteFunc(members(t, data), func(name string) bool { return name == "upstream_code" }) // only of a refused one
				if !slices.Equal(got, members(t, example)) {
					t.Errorf("docs/events.md has no example of\n%s", data)
				}
			})
		}
	}
}
