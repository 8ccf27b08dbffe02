package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/console/figures"
	"sluice/gateway/console/why"
	"sluice/policy/event"
	"sluice/policy/strictyaml"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// The document has exactly the routes, with their parameters.
func TestDocumentHasEveryRoute(t *testing.T) {
	want, got := map[string][]string{}, map[string][]string{}
	for _, r := range routes {
		var params []string
		for _, part := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(r.path, -1) {
			params = append(params, "path "+part[1])
		}
		for _, name := range r.query {
			params = append(params, "query "+name)
		}
		slices.Sort(params)
		want[r.method+" "+r.path] = params
	}
	for path, methods := range document["paths"].(map[string]any) {
		for method, operation := range methods.(map[string]any) {
			var params []string
			list, _ := at(operation, "parameters").([]any)
			for _, p := range list {
				in, name := at(p, "in").(string), at(p, "name").(string)
				if in != "header" {
					params = append(params, in+" "+name)
				}
				if in == "path" && at(p, "required") != true {
					t.Errorf("%s: the part %s of the path is not required", path, name)
				}
			}
			slices.Sort(params)
			got[strings.ToUpper(method)+" "+path] = params
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-code +document):\n%s", diff)
	}
}

// membersOf are the names of a struct's members in JSON.
func membersOf(value any) (names []string) {
	for _, field := range reflect.VisibleFields(reflect.TypeOf(value)) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// teamMembers are the members that the strict reader takes.
func teamMembers(t *testing.T) []string {
	t.Helper()
	_, err := teams.ReadDocument([]byte(`{"teams":[{"id":"a","no_such_member":1}]}`))
	var faults strictyaml.Faults
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	return strings.Split(strings.ReplaceAll(faults[0].Allowed, " or ", ", "), ", ")
}

// raiseMembers are the members of a raise in an answer.
func raiseMembers(t *testing.T) []string {
	t.Helper()
	var members map[string]any
	text, err := json.Marshal(teams.Raise{Unit: unit.NameSpend, Money: unit.Micros})
	if err == nil {
		err = json.Unmarshal(text, &members)
	}
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(maps.Keys(members))
}

// keyMembers are the members of a key that can be changed.
func keyMembers(t *testing.T) []string {
	t.Helper()
	key := teams.Key{ID: "aaaaaaaaaaaa"}
	d := teams.Document{Teams: []teams.Spec{{ID: "a", Keys: []teams.Key{key}}}}
	_, _, err := teams.Apply(d, teams.ChangeKey{Team: "a", Key: key.ID, IfMatch: "*", Members: []byte(`{"no_such_member":1}`)})
	var problem *teams.Problem
	if !errors.As(err, &problem) {
		t.Fatal(err)
	}
	return strings.Split(strings.ReplaceAll(problem.Allowed, " or ", ", "), ", ")
}

// The document has exactly the members of every value.
func TestDocumentHasEveryMember(t *testing.T) {
	var units []string
	for _, unit := range unit.Names {
		units = append(units, string(unit))
	}
	periods := []string{string(teams.PeriodDay), string(teams.PeriodMonth)}
	if enum := at(document, "components", "schemas", "Unit", "enum"); fmt.Sprint(enum) != fmt.Sprint(units) {
		t.Errorf("the units are %v, want %v", enum, units)
	}
	team := append(teamMembers(t), "owner")
	for name, want := range map[string][]string{
		"Me": membersOf(Me{}), "Key": membersOf(Key{}), "KeyChange": keyMembers(t), "KeyOrder": membersOf(teams.KeyOrder{}),
		"NewKey":     membersOf(teams.NewKey{}),
		"RaiseOrder": membersOf(RaiseOrder{}), "Raise": raiseMembers(t), "AdjustOrder": membersOf(AdjustOrder{}),
		"Adjusted": membersOf(AdjustedUse{}), "Amounts": units, "Usage": membersOf(Usage{}), "Use": membersOf(Use{}),
		"Task": membersOf(Task{}), "Entry": membersOf(teams.Entry{}), "Problem": membersOf(Document{}), "Team": team, "TeamDraft": team,
		"Refusals": membersOf(Refusals{}), "RefusalList": membersOf(RefusalList{}), "EventReport": membersOf(event.Report{}),
		"HookReport": membersOf(event.HookReport{}), "DeliveryReport": membersOf(event.DeliveryReport{}), "Request": nil,
		"Latency": membersOf(Latency{}), "Fault": membersOf(figures.Fault{}), "NearLimit": membersOf(NearLimit{}),
		"Found": membersOf(figures.Found{}), "Explained": append(membersOf(why.Answer{}), "request"),
		"Account": membersOf(Account{}), "Cooling": membersOf(Cooling{}), "AccountRate": membersOf(AccountRate{}),
		"AccountQuota": membersOf(AccountQuota{}),
		"Unit":         nil, "Rate": nil, "Queue": {"depth", "wait"},
		"Hook": {"id", "url", "events", "secret_file", "secrets", "insecure", "kind"}, "Quota": periods, "MoneyQuota": periods,
		"RateChange": nil, "QuotaChange": periods, "MoneyQuotaChange": periods,
	} {
		properties, _ := at(document, "components", "schemas", name, "properties").(map[string]any)
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(properties))); diff != "" {
			t.Errorf("%s (-code +document):\n%s", name, diff)
		}
	}
	if n := len(at(document, "components", "schemas").(map[string]any)); n != 41 {
		t.Errorf("the document has %d schemas, the test 41", n)
	}
	var codes []string
	for code := range statuses {
		codes = append(codes, string(code))
	}
	var listed []string
	for _, code := range at(document, "components", "schemas", "Problem", "properties", "code", "enum").([]any) {
		listed = append(listed, code.(string))
	}
	slices.Sort(codes)
	slices.Sort(listed)
	if diff := cmp.Diff(codes, listed); diff != "" {
		t.Errorf("codes (-code +document):\n%s", diff)
	}
}

// The document is valid OpenAPI 3.1: required members are present, references resolve, and names are unique.
func TestDocumentIsOpenAPI(t *testing.T) {
	if version, _ := document["openapi"].(string); !strings.HasPrefix(version, "3.1.") {
		t.Errorf("openapi is %q", version)
	}
	for _, name := range []string{"title", "version"} {
		if text, _ := at(document, "info", name).(string); text == "" {
			t.Errorf("info.%s is missing", name)
		}
	}
	allowed := []string{"openapi", "info", "servers", "security", "paths", "components"}
	for name := range document {
		if !slices.Contains(allowed, name) {
			t.Errorf("%s is not of OpenAPI", name)
		}
	}
	for _, one := range document["security"].([]any) {
		for name := range one.(map[string]any) {
			if at(document, "components", "securitySchemes", name, "type") == nil {
				t.Errorf("there is no security scheme %s", name)
			}
		}
	}
	ids := map[string]bool{}
	for path, methods := range document["paths"].(map[string]any) {
		for method, operation := range methods.(map[string]any) {
			checkOperation(t, method+" "+path, operation.(map[string]any), ids)
		}
	}
	checkReferences(t, document)
}

func checkOperation(t *testing.T, name string, o map[string]any, ids map[string]bool) {
	t.Helper()
	id, _ := o["operationId"].(string)
	if id == "" || ids[id] || o["summary"] == nil {
		t.Errorf("%s: operationId %q, summary %v", name, id, o["summary"])
	}
	ids[id] = true
	good := 0
	for status, response := range o["responses"].(map[string]any) {
		if text, _ := at(response, "description").(string); text == "" {
			t.Errorf("%s: %s has no description", name, status)
		}
		if status[0] == '2' {
			good++
		} else if at(response, "content", "application/problem+json", "schema", "$ref") != "#/components/schemas/Problem" {
			t.Errorf("%s: %s is no problem", name, status)
		}
	}
	for _, status := range []string{"401", "405", "421", "429", "500", "503"} {
		if at(o["responses"], status) == nil {
			t.Errorf("%s: %s is missing", name, status)
		}
	}
	if good == 0 {
		t.Errorf("%s: there is no good answer", name)
	}
	if body := o["requestBody"]; body != nil && at(body, "content", "application/json", "schema") == nil {
		t.Errorf("%s: the body has no schema", name)
	}
}

// checkReferences walks the whole document. A schema that is never used is a fault, too.
func checkReferences(t *testing.T, document map[string]any) {
	t.Helper()
	used := map[string]bool{}
	var walk func(any)
	walk = func(tree any) {
		switch tree := tree.(type) {
		case []any:
			for _, item := range tree {
				walk(item)
			}
		case map[string]any:
			if ref, ok := tree["$ref"].(string); ok {
				used[strings.TrimPrefix(ref, "#/components/schemas/")] = true
				if resolved(tree) == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			for _, item := range tree {
				walk(item)
			}
		}
	}
	walk(document)
	for name := range at(document, "components", "schemas").(map[string]any) {
		if !used[name] {
			t.Errorf("%s is not used", name)
		}
	}
}

// TestTheManualListsEveryPath of the description, in the table for programs.
func TestTheManualListsEveryPath(t *testing.T) {
	manual, err := os.ReadFile("../../docs/console.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(manual), "\n## For programs\n")
	for path := range document["paths"].(map[string]any) {
		if !strings.Contains(table, " "+path+"`") && !strings.Contains(table, " "+path+"?") && !strings.Contains(table, path+"`") {
			t.Errorf("docs/console.md does not list %s", path)
		}
	}
}
