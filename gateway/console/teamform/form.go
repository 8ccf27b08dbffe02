// Package teamform is a team's document, or a key's own limits, as a form of fields, and back. It is pure: it reads no request and writes
// no page. A form that is filled and read again gives the same members.
package teamform

import (
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
	kindChoice = "choice" // true, false, or empty
	kindChecks = "checks" // a list of some of the options
)

// Field is one field of the form. Its name is the path in the teams file.
type Field struct {
	Name, Label, Kind string
	Of                string // the subject of a short label, for screen readers
	Unit, Hint        string
	Options           []string
	Empty             string // what an empty field means without a default; empty: that nothing is set
	Value, Error      string
	Default           string // what an empty field takes from the file's defaults; empty: nothing
	Current           string // the value in force; only if Other
	Other             bool   // another person saved a value that differs from the typed one
}

// Chosen reports whether an option is among the value's lines.
func (f Field) Chosen(option string) bool {
	return slices.Contains(strings.Split(f.Value, "\n"), option)
}

// Means tells what an empty field means, unless a placeholder shows it.
func (f Field) Means() string {
	unset := "Empty: "
	if f.Kind == kindChecks {
		unset = "None ticked: "
	}
	switch listed := f.Kind == kindLines || f.Kind == kindChecks; {
	case listed && f.Default != "":
		return unset + "the default, " + f.Default + "."
	case f.Default == "" && f.Empty != "":
		return unset + f.Empty + "."
	}
	return ""
}

// Member returns the member of the team or key that contains the field.
func (f *Field) Member() string {
	name, _, _ := strings.Cut(f.Name, ".")
	return name
}

// ID returns the id of the field's element.
func (f Field) ID() string { return "f-" + strings.ReplaceAll(f.Name, ".", "-") }

// Form is the fields of a team, or of a key's own limits.
type Form []Group

// Each calls do for each field.
func (all Form) Each(do func(*Field)) {
	for g := range all {
		for i := range all[g].Fields {
			do(&all[g].Fields[i])
		}
	}
}

// Group is a fieldset.
type Group struct {
	Legend, Hint string
	Table        bool // of limits: the fields of a unit are a row
	Folded       bool // folded unless Open
	Fields       []Field
}

// Rows returns the fields of a table by unit: the rate, nil if there is none, the day's quota and the month's.
func (g Group) Rows() (rows [][3]*Field) {
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
			rows = append(rows, [3]*Field{})
		}
		rows[len(rows)-1][at] = f
	}
	return rows
}

// Open reports whether a folded group is shown: it has values or faults.
func (g Group) Open() bool {
	return slices.ContainsFunc(g.Fields, func(f Field) bool { return f.Value != "" || f.Error != "" || f.Other })
}

// Team returns the empty form of a team: what most teams need first.
func Team() Form {
	endpoints := make([]string, len(policy.Endpoints))
	for i, e := range policy.Endpoints {
		endpoints[i] = string(e)
	}
	return Form{
		{Legend: "About", Fields: []Field{
			{Name: "description", Label: "Description", Kind: kindText, Hint: "One line for people, at most 200 characters."},
			{Name: "models", Label: "Models", Kind: kindLines, Hint: "One a line, * for any characters, such as llm-*.", Empty: "all"},
			{Name: "members", Label: "Members", Kind: kindLines, Hint: "Groups or e-mails of the sign-on, one a line. They see this team."},
		}},
		{Legend: "Limits", Hint: limitsHint + " The word none in place of a limit takes a default away.", Table: true, Fields: limitFields()},
		{Legend: "Keys and use", Folded: true, Fields: []Field{
			{Name: "self_service", Label: "Members make and end keys themselves", Kind: kindFlag},
			{
				Name: "shadow", Label: "Shadow", Kind: kindChoice, Hint: "On: limits refuse nothing, and what they would have refused is reported.",
				Options: []string{"true", "false"}, Empty: "off",
			},
			{Name: "key_days", Label: "Longest life of a key", Kind: kindNumber, Unit: "days", Hint: "1 to 3650. Older keys get this end too."},
			{
				Name: "regions", Label: "Regions", Kind: kindLines, Hint: "Of the accounts at the service that may do its work, one a line.",
				Empty: "all",
			},
			{
				Name: "endpoints", Label: "Endpoints", Kind: kindChecks, Options: endpoints,
				Empty: "all but other, which are the paths that pass unread",
			},
			{Name: "concurrent", Label: "Requests in flight", Kind: kindNumber, Unit: "at once"},
			{Name: "open_tasks", Label: "Open tasks", Kind: kindNumber, Unit: "at once"},
			{
				Name: "queue.wait", Label: "Wait for a turn", Kind: kindText, Hint: "Such as 20s, 60s at most.",
				Empty: "only requests that ask for it wait",
			},
			{Name: "queue.depth", Label: "Waiting requests", Kind: kindNumber, Unit: "at most", Hint: "At each replica.", Empty: "100"},
			{Name: "share", Label: "Share", Kind: kindNumber, Hint: "Weight among the teams that wait for the same thing, 1 to 1000.", Empty: "1"},
		}},
		{Legend: "Rates", Hint: "A bucket of burst units that refills at the rate. The time of a rate is 1s to 1h, a minute if it is empty. " +
			"Without burst it is the rate.", Folded: true, Fields: rateFields()},
		{Legend: "Tags", Hint: "Quotas of each value of one tag of the header Sluice-Tag. The tag needs no quotas: its values are kept apart " +
			"in the ledger.", Folded: true, Fields: tagFields()},
		{Legend: "Rules", Folded: true, Fields: []Field{
			{
				Name: "rules", Label: "Modes", Kind: kindPairs,
				Hint: "One a line, such as image.prompt.length: refuse. Modes are refuse, warn and off.",
			},
		}},
	}
}

const limitsHint = "Days and months are calendar ones in UTC. A quota of 0 allows nothing."

// Key returns the empty form of a key's own limits: the fields of a team that a key may have.
func Key() (own Form) {
	for _, g := range Team() {
		if g.Table {
			g.Hint = limitsHint
		}
		g.Fields = slices.DeleteFunc(g.Fields, func(f Field) bool { return !teams.IsKeyMember(f.Member()) })
		if at := slices.IndexFunc(g.Fields, func(f Field) bool { return f.Name == "models" }); at >= 0 {
			g.Fields[at].Empty = "those of its team"
		}
		if len(g.Fields) > 0 {
			own = append(own, g)
		}
	}
	return own
}

// limitFields returns the table of limits: for each unit the rate, if it may have one, and the quotas.
func limitFields() (all []Field) {
	quotas := quotaFields()
	for i := range unit.Table {
		u := unit.Table[i].Name
		if unit.Table[i].Rate {
			all = append(all, Field{Name: "rates." + string(u) + ".limit", Label: u.Title() + " a minute", Kind: kindNumber})
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
func rateFields() (all []Field) {
	for _, u := range unit.Table {
		if u.Rate {
			at := "rates." + string(u.Name) + "."
			all = append(all,
				Field{Name: at + "per", Label: u.Name.Title() + " per", Kind: kindText},
				Field{Name: at + "burst", Label: u.Name.Title() + ", burst", Kind: kindNumber})
		}
	}
	return all
}

func quotaFields() (all []Field) {
	for _, unit := range unit.Names {
		for _, period := range teams.Periods {
			all = append(all, Field{
				Name: "quotas." + string(unit) + "." + string(period), Label: unit.Title() + " a " + string(period), Kind: kindNumber,
			})
		}
	}
	return all
}

// tagFields returns the fields of the tag, and of the quotas of each of its values.
func tagFields() []Field {
	all := []Field{{Name: "tag_key", Label: "Name of the tag", Kind: kindText, Hint: "Such as project."}}
	for _, f := range quotaFields() {
		f.Name = "tag_" + f.Name
		f.Of = "For each value:"
		all = append(all, f)
	}
	return all
}
