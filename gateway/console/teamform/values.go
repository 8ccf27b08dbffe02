package teamform

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sluice/policy/teams"
)

// Fill sets the form's values from a team's own members.
func (all Form) Fill(members map[string]json.RawMessage) {
	tree := decode(members)
	all.Each(func(f *Field) { f.Value = shown(at(tree, f.Name), f.Kind) })
	all.named()
}

// named puts the time of a rate into its label, if it is not a minute.
func (all Form) named() {
	per := map[string]string{}
	all.Each(func(f *Field) { per[f.Name] = f.Value })
	all.Each(func(f *Field) {
		if rate, is := strings.CutSuffix(f.Name, ".limit"); is && per[rate+".per"] != "" && per[rate+".per"] != "1m" {
			f.Label = strings.TrimSuffix(f.Label, " a minute") + " per " + per[rate+".per"]
			f.Unit = "per " + per[rate+".per"]
		}
	})
}

// Defaults sets what each empty field takes from the defaults of the file; nil: nothing.
func (all Form) Defaults(of *teams.Team) {
	if of == nil {
		return
	}
	words := map[string]string{
		"models": listed(of.Models), "regions": listed(of.Regions), "endpoints": listed(of.Endpoints), "tag_key": of.TagKey,
		"concurrent": counted(of.Concurrent), "open_tasks": counted(of.OpenTasks), "key_days": counted(of.KeyDays), "share": counted(of.Share),
		"queue.depth": counted(of.Queue.Depth),
	}
	if of.Shadow {
		words["shadow"] = "on"
	}
	if of.Queue.Wait > 0 {
		words["queue.wait"] = of.Queue.Wait.String()
	}
	for _, r := range of.Rates {
		at := "rates." + string(r.Unit) + ".limit"
		if words[at] = of.Money.Written(r.Unit, r.Limit); r.PerText != "1m" {
			words[at] += " per " + r.PerText
		}
	}
	for name, quotas := range map[string][]teams.Quota{"quotas.": of.Quotas, "tag_quotas.": of.TagQuotas} {
		for _, q := range quotas {
			words[name+string(q.Unit)+"."+string(q.Period)] = of.Money.Written(q.Unit, q.Limit)
		}
	}
	all.Each(func(f *Field) { f.Default = words[f.Name] })
}

// listed writes a list as words.
func listed[T ~string](list []T) string {
	words := make([]string, len(list))
	for i := range list {
		words[i] = string(list[i])
	}
	return strings.Join(words, ", ")
}

// counted writes a number; empty: 0.
func counted(n int) string { return strings.TrimPrefix(strconv.Itoa(n), "0") }

// Typed sets the form's values from a submitted form.
func (all Form) Typed(form url.Values) {
	all.Each(func(f *Field) {
		f.Value = strings.TrimSpace(strings.ReplaceAll(strings.Join(form[f.Name], "\n"), "\r", ""))
		if rate, is := strings.CutSuffix(f.Name, ".per"); is && f.Value == "" {
			if limit := strings.TrimSpace(form.Get(rate + ".limit")); limit != "" && limit != none {
				f.Value = "1m"
			}
		}
	})
	all.named()
}

// Members returns a team's members: those of the form, and the kept ones that the form does not know.
func (all Form) Members(kept map[string]json.RawMessage) map[string]json.RawMessage {
	tree := decode(kept)
	all.Each(func(f *Field) { put(tree, strings.Split(f.Name, "."), parsed(f)) })
	out := map[string]json.RawMessage{}
	for name, value := range tree {
		text, err := json.Marshal(value)
		if err == nil {
			out[name] = text
		}
	}
	return out
}

// Change encodes the form as a merge patch. An empty field is null, which removes the member.
func (all Form) Change() []byte {
	members := map[string]any{}
	all.Each(func(f *Field) { put(members, strings.Split(f.Name, "."), cmp.Or(parsed(f), any(removed))) })
	text, _ := json.Marshal(members) // cannot fail
	return text
}

// removed is the null of a merge patch.
var removed = json.RawMessage("null")

// parsed returns the value of a field; nil: it is empty.
func parsed(f *Field) any {
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
	case kindChoice:
		if word := f.Value == "true"; word || f.Value == "false" {
			return word
		}
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

// none is the word in place of a limit that takes the default away. Of a rate it stands in place of the rate, and in the form of its limit.
const none = "none"

// at returns the value at a path; nil: there is none.
func at(tree map[string]any, path string) any {
	first, rest, deeper := strings.Cut(path, ".")
	if !deeper || rest == "limit" && tree[first] == none {
		return tree[first]
	}
	below, _ := tree[first].(map[string]any)
	return at(below, rest)
}

// put sets the value at a path; nil removes it, together with parents that become empty.
func put(tree map[string]any, path []string, value any) {
	name := path[0]
	if len(path) > 1 {
		limit := path[1] == "limit"
		below, ok := tree[name].(map[string]any)
		switch {
		case limit && value == none:
			tree[name] = none
			return
		case !ok && tree[name] == none && !limit: // the rate "none" has no period and no burst
			return
		case !ok:
			below = map[string]any{}
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
