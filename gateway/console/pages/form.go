package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"sluice/policy"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// The kinds of the fields of a team's form.
const (
	kindText   = "text"
	kindNumber = "number" // encoded as a number if it is one
	kindLines  = "lines"  // a list, one word a line
	kindPairs  = "pairs"  // "name: word", one a line
	kindFlag   = "flag"
	kindChecks = "checks" // a list of some of the options
)

// field is one field of the form. Its name is the path in the teams file.
type field struct {
	Name, Label, Kind string
	Of                string // the subject of a short label, for screen readers
	Unit, Hint        string
	Options           []string
	Value, Error      string
	Default           string // the limit in force if the field is empty; empty: none
	Current           string // the value in force; only if Other
	Other             bool   // another person saved a value that differs from the typed one
}

// Chosen reports whether an option is among the value's lines.
func (f field) Chosen(option string) bool {
	return slices.Contains(strings.Split(f.Value, "\n"), option)
}

// member returns the member of the team or key that contains the field.
func (f *field) member() string {
	name, _, _ := strings.Cut(f.Name, ".")
	return name
}

// ID returns the id of the field's element.
func (f field) ID() string { return "f-" + strings.ReplaceAll(f.Name, ".", "-") }

// group is a fieldset.
type group struct {
	Legend, Hint string
	Table        bool // of limits: the fields of a unit are a row
	Folded       bool // folded unless Open
	Fields       []field
}

// Rows returns the fields of a table by unit: the rate, nil if there is none, the day's quota and the month's.
func (g group) Rows() (rows [][3]*field) {
	for i := range g.Fields {
		f := &g.Fields[i]
		at := 0
		switch {
		case strings.HasSuffix(f.Name, ".day"):
			at = 1
		case strings.HasSuffix(f.Name, ".month"):
			at = 2
		}
		if n := len(rows); n == 0 || rows[n-1][2] != nil {
			rows = append(rows, [3]*field{})
		}
		rows[len(rows)-1][at] = f
	}
	return rows
}

// Open reports whether a folded group is shown: it has values or faults.
func (g group) Open() bool {
	return slices.ContainsFunc(g.Fields, func(f field) bool { return f.Value != "" || f.Error != "" || f.Other })
}

// teamForm returns the empty form of a team: what most teams need first.
func teamForm() []group {
	endpoints := make([]string, len(policy.Endpoints))
	for i, e := range policy.Endpoints {
		endpoints[i] = string(e)
	}
	return []group{
		{Legend: "About", Fields: []field{
			{Name: "description", Label: "Description", Kind: kindText, Hint: "One line for people, at most 200 characters."},
			{Name: "models", Label: "Models", Kind: kindLines, Hint: "One a line, * for any characters, such as llm-*. Empty: all."},
			{Name: "members", Label: "Members", Kind: kindLines, Hint: "Groups or e-mails of the sign-on, one a line. They see this team."},
		}},
		{Legend: "Limits", Hint: "Days and months are calendar ones in UTC. 0 allows nothing.", Table: true, Fields: limitFields()},
		{Legend: "Keys and use", Folded: true, Fields: []field{
			{Name: "self_service", Label: "Members make and end keys themselves", Kind: kindFlag},
			{Name: "shadow", Label: "Shadow: limits refuse nothing, and what they would have refused is reported", Kind: kindFlag},
			{Name: "key_days", Label: "Longest life of a key", Kind: kindNumber, Unit: "days", Hint: "1 to 3650. Older keys get this end too."},
			{Name: "regions", Label: "Regions", Kind: kindLines, Hint: "Of the accounts at the service that may do its work, one a line. Empty: all."},
			{Name: "endpoints", Label: "Endpoints", Kind: kindChecks, Options: endpoints, Hint: "None ticked: all but other, which are the paths that pass unread."},
			{Name: "concurrent", Label: "Requests in flight", Kind: kindNumber, Unit: "at once"},
			{Name: "open_tasks", Label: "Open tasks", Kind: kindNumber, Unit: "at once"},
			{Name: "queue.wait", Label: "Wait for a turn", Kind: kindText, Hint: "Such as 20s, 60s at most. Empty: only requests that ask for it wait."},
			{Name: "queue.depth", Label: "Waiting requests", Kind: kindNumber, Unit: "at most", Hint: "At each replica. Empty: 100."},
			{Name: "share", Label: "Share", Kind: kindNumber, Hint: "Weight among the teams that wait for the same thing, 1 to 1000. Empty: 1."},
		}},
		{Legend: "Rates", Hint: "A bucket of burst units that refills at the rate. The time of a rate is 1s to 1h, a minute if it is empty. Without burst it is the rate.", Folded: true, Fields: rateFields()},
		{Legend: "Tags", Hint: "Quotas of each value of one tag of the header Sluice-Tag. The tag needs no quotas: its values are kept apart in the ledger.", Folded: true, Fields: tagFields()},
		{Legend: "Rules", Folded: true, Fields: []field{
			{Name: "rules", Label: "Modes", Kind: kindPairs, Hint: "One a line, such as image.prompt.length: refuse. Modes are refuse, warn and off."},
		}},
	}
}

// keyForm returns the empty form of a key's own limits: the fields of a team that a key may have.
func keyForm() (own []group) {
	for _, g := range teamForm() {
		g.Fields = slices.DeleteFunc(g.Fields, func(f field) bool { return !teams.IsKeyMember(f.member()) })
		if len(g.Fields) > 0 {
			own = append(own, g)
		}
	}
	return own
}

// limitFields returns the table of limits: for each unit the rate, if it may have one, and the quotas.
func limitFields() (all []field) {
	quotas := quotaFields()
	for i := range unit.Table {
		u := unit.Table[i].Name
		if unit.Table[i].Rate {
			all = append(all, field{Name: "rates." + string(u) + ".limit", Label: title(u) + " a minute", Kind: kindNumber})
		}
		for _, q := range quotas {
			if strings.HasPrefix(q.Name, "quotas."+string(u)+".") {
				all = append(all, q)
			}
		}
	}
	return all
}

// rateFields returns the other fields of rates.
func rateFields() (all []field) {
	for _, u := range unit.Table {
		if u.Rate {
			at := "rates." + string(u.Name) + "."
			all = append(all,
				field{Name: at + "per", Label: title(u.Name) + " per", Kind: kindText},
				field{Name: at + "burst", Label: title(u.Name) + ", burst", Kind: kindNumber})
		}
	}
	return all
}

func quotaFields() (all []field) {
	for _, unit := range unit.Names {
		for _, period := range teams.Periods {
			all = append(all, field{
				Name: "quotas." + string(unit) + "." + string(period), Label: title(unit) + " a " + string(period), Kind: kindNumber,
			})
		}
	}
	return all
}

// tagFields returns the fields of the tag, and of the quotas of each of its values.
func tagFields() []field {
	all := []field{{Name: "tag_key", Label: "Name of the tag", Kind: kindText, Hint: "Such as project."}}
	for _, f := range quotaFields() {
		f.Name = "tag_" + f.Name
		f.Of = "For each value:"
		all = append(all, f)
	}
	return all
}

// fill sets the form's values from a team's own members.
func fill(groups []group, fields map[string]json.RawMessage) {
	each(groups, func(f *field) { f.Value = shown(at(decode(fields), f.Name), f.Kind) })
	named(groups)
}

// named puts the time of a rate into its label, if it is not a minute.
func named(groups []group) {
	per := map[string]string{}
	each(groups, func(f *field) { per[f.Name] = f.Value })
	each(groups, func(f *field) {
		if rate, is := strings.CutSuffix(f.Name, ".limit"); is && per[rate+".per"] != "" && per[rate+".per"] != "1m" {
			f.Label = strings.TrimSuffix(f.Label, " a minute") + " per " + per[rate+".per"]
			f.Unit = "per " + per[rate+".per"]
		}
	})
}

// inForce sets the defaults of the fields.
func inForce(groups []group, defaults *teams.Team) {
	if defaults == nil {
		return
	}
	limits := map[string]string{}
	for _, r := range defaults.Rates {
		limits["rates."+string(r.Unit)+".limit"] = defaults.Money.Written(r.Unit, r.Limit)
		if r.PerText != "1m" {
			limits["rates."+string(r.Unit)+".limit"] += " per " + r.PerText
		}
	}
	for _, q := range defaults.Quotas {
		limits["quotas."+string(q.Unit)+"."+string(q.Period)] = defaults.Money.Written(q.Unit, q.Limit)
	}
	each(groups, func(f *field) { f.Default = limits[f.Name] })
}

// typed sets the form's values from a submitted form.
func typed(groups []group, form url.Values) {
	each(groups, func(f *field) {
		f.Value = strings.TrimSpace(strings.ReplaceAll(strings.Join(form[f.Name], "\n"), "\r", ""))
		if rate, is := strings.CutSuffix(f.Name, ".per"); is && f.Value == "" && strings.TrimSpace(form.Get(rate+".limit")) != "" {
			f.Value = "1m"
		}
	})
	named(groups)
}

func each(groups []group, do func(*field)) {
	for g := range groups {
		for i := range groups[g].Fields {
			do(&groups[g].Fields[i])
		}
	}
}

// read returns a team's members: those of the form, and the kept ones that the form does not know.
func read(groups []group, kept map[string]json.RawMessage) map[string]json.RawMessage {
	tree := decode(kept)
	each(groups, func(f *field) { put(tree, strings.Split(f.Name, "."), parsed(f)) })
	out := map[string]json.RawMessage{}
	for name, value := range tree {
		text, err := json.Marshal(value)
		if err == nil {
			out[name] = text
		}
	}
	return out
}

// changeOf encodes the form as a merge patch. An empty field is null, which removes the member.
func changeOf(groups []group) []byte {
	members := map[string]any{}
	each(groups, func(f *field) {
		to, path := members, strings.Split(f.Name, ".")
		for _, name := range path[:len(path)-1] {
			below, ok := to[name].(map[string]any)
			if !ok {
				below = map[string]any{}
				to[name] = below
			}
			to = below
		}
		to[path[len(path)-1]] = parsed(f)
	})
	text, _ := json.Marshal(members) // cannot fail
	return text
}

// parsed returns the value of a field; nil: it is empty.
func parsed(f *field) any {
	if f.Value == "" {
		return nil
	}
	switch f.Kind {
	case kindNumber:
		if json.Valid([]byte(f.Value)) && strings.Trim(f.Value, "0123456789.eE+-") == "" {
			return json.Number(f.Value)
		}
	case kindFlag:
		return true
	case kindLines, kindChecks:
		return lines(f.Value)
	case kindPairs:
		pairs := map[string]any{}
		for _, line := range lines(f.Value) {
			name, word, _ := strings.Cut(line, ":")
			pairs[strings.TrimSpace(name)] = strings.TrimSpace(word)
		}
		return pairs
	}
	return f.Value
}

func lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// decode decodes members into a tree.
func decode(fields map[string]json.RawMessage) map[string]any {
	tree := map[string]any{}
	for name, text := range fields {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var value any
		if d.Decode(&value) == nil {
			tree[name] = value
		}
	}
	return tree
}

// at returns the value at a path; nil: none.
func at(tree map[string]any, path string) any {
	first, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		return tree[first]
	}
	below, _ := tree[first].(map[string]any)
	return at(below, rest)
}

// put sets the value at a path; nil removes it, together with parents that become empty.
func put(tree map[string]any, path []string, value any) {
	name := path[0]
	if len(path) > 1 {
		below, ok := tree[name].(map[string]any)
		if !ok {
			if below = map[string]any{}; value == nil {
				return // such as the word none
			}
		}
		put(below, path[1:], value)
		if value = any(below); len(below) == 0 {
			value = nil
		}
	}
	if value == nil {
		delete(tree, name)
		return
	}
	tree[name] = value
}

// shown formats a value for a kind of field.
func shown(value any, kind string) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []any:
		words := make([]string, len(v))
		for i := range v {
			words[i] = fmt.Sprint(v[i])
		}
		return strings.Join(words, "\n")
	case map[string]any:
		var all []string
		for name, word := range v {
			all = append(all, name+": "+fmt.Sprint(word))
		}
		slices.Sort(all)
		return strings.Join(all, "\n")
	case bool:
		if kind == kindFlag && !v {
			return ""
		}
	}
	return fmt.Sprint(value)
}
