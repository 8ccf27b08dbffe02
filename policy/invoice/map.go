package invoice

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a container has no zones

	"github.com/goccy/go-yaml"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/price"
)

// Map says what the columns of a bill mean.
type Map struct {
	Date     Date             `yaml:"date"`
	Account  Account          `yaml:"account"` // optional
	Model    Column           `yaml:"model"`
	Kind     Column           `yaml:"kind"`     // optional: every line is of the kind unknown
	Quantity Quantity         `yaml:"quantity"` // optional: only money is compared
	Amount   Column           `yaml:"amount"`
	Units    map[string]int64 `yaml:"units"` // how many tokens or pictures one of each unit is; 0: the unit counts something else
	Kinds    []KindPattern    `yaml:"kinds"` // the first that matches counts
	Skip     []Skip           `yaml:"skip"`  // lines to leave out

	tokens, images Column // of Sluice's own bills, instead of Quantity: they also have those of lines of unknown kind, and of corrections
}

// Column names a column of the bill by its head.
type Column struct {
	Name string `yaml:"column"`
}

// Account is the column of the account that a line is for.
type Account struct {
	Column `yaml:",inline"`
	Names  map[string]string `yaml:"names"` // the accounts at the service by the bill's words; absent: the words are their ids
}

// of is the account at the service that a word of the bill names.
func (a *Account) of(word string) string {
	if name, named := a.Names[word]; named {
		return name
	}
	return limit.AccountName(word)
}

// Date is the column of a line's time.
type Date struct {
	Column `yaml:",inline"`
	Format string `yaml:"format"` // a layout of package time; absent: 2006-01-02
	Zone   string `yaml:"zone"`   // of times without one; absent: UTC. Only times with hours are converted to days in UTC
}

// Quantity is the column of how much a line charges.
type Quantity struct {
	Column `yaml:",inline"`
	Unit   Column `yaml:"unit"` // the column with a name of Units; absent: tokens and pictures
}

// KindPattern turns words of the bill into a kind of the ledger.
type KindPattern struct {
	Pattern *policy.Pattern `yaml:"pattern"`
	Kind    string          `yaml:"kind"`
}

// Skip leaves out the lines whose column matches.
type Skip struct {
	Column  `yaml:",inline"`
	Pattern *policy.Pattern `yaml:"pattern"`
}

// Unknown is the kind of words that no pattern matches, and of rows of the ledger without kinds.
const Unknown = "unknown"

var imageKind = price.Image.String()

// Focus is the map of Sluice's own bills, in the form of FOCUS 1.2.
var Focus = Map{
	Date:    Date{Column: Column{"ChargePeriodStart"}, Format: time.RFC3339},
	Account: Account{Column: Column{"BillingAccountName"}},
	Model:   Column{"ServiceName"},
	Kind:    Column{"x_Kind"},
	Amount:  Column{"BilledCost"},
	Kinds:   ownKinds(),
	tokens:  Column{"x_Tokens"},
	images:  Column{"x_Images"},
}

// ownKinds are the kinds of Sluice's own bills, by their names.
func ownKinds() (all []KindPattern) {
	for _, row := range price.Table {
		all = append(all, KindPattern{new(policy.Pattern(row.Name)), row.Name})
	}
	return all
}

// ParseMap reads a map. Its errors name the line and column.
func ParseMap(text []byte) (*Map, error) {
	var m Map
	if err := yaml.UnmarshalWithOptions(text, &m, yaml.Strict()); err != nil {
		var fault yaml.Error
		if errors.As(err, &fault) && fault.GetToken() != nil {
			at := fault.GetToken().Position
			return nil, fmt.Errorf("line %d, column %d: %s", at.Line, at.Column, fault.GetMessage())
		}
		return nil, fmt.Errorf("line 1, column 1: %w", err)
	}
	if member, fault := m.fault(); fault != "" {
		line, column := placeOf(text, member)
		return nil, fmt.Errorf("line %d, column %d: %s: %s", line, column, member, fault)
	}
	return &m, nil
}

// fault returns the first fault in the content of a map, and the member that has it.
func (m *Map) fault() (member, fault string) {
	const (
		head   = "absent; allowed: the head of a column of the bill"
		wanted = `absent; allowed: words of the column, with * for any others, and "" for none`
	)
	needed := map[string]Column{"date": m.Date.Column, "model": m.Model, "amount": m.Amount}
	for _, member := range []string{"date", "model", "amount"} {
		if needed[member].Name == "" {
			return member + ".column", head
		}
	}
	if _, err := time.LoadLocation(m.Date.Zone); err != nil {
		return "date.zone", fmt.Sprintf("given %q; allowed: a name such as Asia/Shanghai", m.Date.Zone)
	}
	for i, k := range m.Kinds {
		if k.Pattern == nil {
			return fmt.Sprintf("kinds[%d].pattern", i), wanted
		}
		if _, known := price.KindOf(k.Kind); !known && k.Kind != Unknown {
			return fmt.Sprintf("kinds[%d].kind", i), fmt.Sprintf("given %q; allowed: %s", k.Kind, strings.Join(kindNames(), ", "))
		}
	}
	for i, s := range m.Skip {
		if s.Name == "" {
			return fmt.Sprintf("skip[%d].column", i), head
		}
		if s.Pattern == nil {
			return fmt.Sprintf("skip[%d].pattern", i), wanted
		}
	}
	for name, n := range m.Units {
		if n < 0 || n > 1_000_000_000 {
			return "units." + name, fmt.Sprintf("given %d; allowed: 0 to 1,000,000,000 tokens or pictures", n)
		}
	}
	if m.Quantity.Unit.Name != "" && len(m.Units) == 0 {
		return "units", "absent; allowed: what one of each word of the column " + m.Quantity.Unit.Name + " is"
	}
	return "", ""
}

// placeOf is the place in the text of a member, or of the nearest one around it.
func placeOf(text []byte, member string) (line, column int) {
	for member != "" {
		if path, err := yaml.PathString("$." + member); err == nil {
			if node, err := path.ReadNode(bytes.NewReader(text)); err == nil && node.GetToken() != nil {
				return node.GetToken().Position.Line, node.GetToken().Position.Column
			}
		}
		member = member[:max(strings.LastIndexAny(member, ".["), 0)]
	}
	return 1, 1
}

func kindNames() []string {
	names := make([]string, 0, price.Kinds+1)
	for _, row := range price.Table {
		names = append(names, row.Name)
	}
	return append(names, Unknown)
}

// Warning is a line about members of the map, from a file, that have no effect; empty: none.
func (m *Map) Warning(file string) string {
	if m.Date.Zone == "" || m.Date.Zone == "UTC" || m.Date.hasHours() {
		return ""
	}
	return "warning: " + file + ": days of the bill are of " + m.Date.Zone +
		", those of the ledger of UTC: each day differs by what was used in the hours between; " +
		"reconcile months, or raise the tolerance\n"
}

func (d *Date) format() string {
	if d.Format == "" {
		return time.DateOnly
	}
	return d.Format
}

// hasHours reports whether the format has hours: 15, 3 or 03; minutes are 04.
func (d *Date) hasHours() bool {
	return strings.ContainsAny(strings.ReplaceAll(d.format(), "2006", ""), "35")
}

// kindOf is the kind of a word of the bill.
func (m *Map) kindOf(word string) string {
	if i := slices.IndexFunc(m.Kinds, func(k KindPattern) bool { return k.Pattern.Match(word) }); i >= 0 {
		return m.Kinds[i].Kind
	}
	return Unknown
}

// unitOf is the unit in which a kind is counted.
func unitOf(kind string) int {
	k, _ := price.KindOf(kind)
	return k.Unit()
}
