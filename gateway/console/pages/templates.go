package pages

import (
	"embed"
	"html/template"
	"net/url"
	"path"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"sluice/gateway/console/access"
	"sluice/gateway/console/chart"
	"sluice/gateway/console/figures"
	"sluice/policy/teams"
	"sluice/policy/unit"
	"sluice/telemetry/recent"
)

//go:embed templates
var templateFiles embed.FS

// templatesBy has the templates for each resolution of money.
var templatesBy = [...]func() map[string]*template.Template{
	unit.Nanos:  sync.OnceValue(func() map[string]*template.Template { return parseTemplates(unit.Nanos) }),
	unit.Micros: sync.OnceValue(func() map[string]*template.Template { return parseTemplates(unit.Micros) }),
}

// templates returns a set for each page: its own file, the layout and the parts.
func templates(m unit.Money) map[string]*template.Template { return templatesBy[m]() }

func parseTemplates(m unit.Money) map[string]*template.Template {
	shared := template.Must(template.New("shared").Funcs(functions).Funcs(moneyFunctions(m)).ParseFS(templateFiles, "templates/shared/*.html"))
	files, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(err) // cannot happen: the folder is embedded
	}
	all := map[string]*template.Template{}
	for _, file := range files {
		if !file.IsDir() {
			set := template.Must(template.Must(shared.Clone()).ParseFS(templateFiles, path.Join("templates", file.Name())))
			all[strings.TrimSuffix(file.Name(), ".html")] = set
		}
	}
	return all
}

// LoginTemplates returns the templates of the pages in [console.Deps].Templates.
func LoginTemplates() *template.Template {
	return template.Must(template.Must(template.New("shared").Funcs(functions).Funcs(moneyFunctions(unit.Nanos)).
		ParseFS(templateFiles, "templates/shared/*.html")).ParseFS(templateFiles, "templates/door/*.html"))
}

// unmasked replaces the characters that reverse the following text, so that a text cannot look like another one. Direction marks, which
// Arabic and Hebrew need, stay.
var unmasked = strings.NewReplacer(
	"\u202a", "[U+202A]", "\u202b", "[U+202B]", "\u202c", "[U+202C]", "\u202d", "[U+202D]", "\u202e", "[U+202E]",
	"\u2066", "[U+2066]", "\u2067", "[U+2067]", "\u2068", "[U+2068]", "\u2069", "[U+2069]",
)

// functions can be called in the templates.
var functions = template.FuncMap{
	"count":   count,
	"brief":   brief,
	"grouped": func(n any) string { return grouped(whole(n)) },
	"several": func(n any, noun string) string { return several(whole(n), noun) },
	"noun":    func(n int64, several unit.Name) string { return unit.Noun(n, string(several)) },
	"number":  func(i int) int { return i + 1 },
	"share":   chart.Share,
	"of":      of,
	"counts":  counts,
	"beside":  beside,
	"narrow":  narrow,
	"title":   unit.Name.Title,
	"kind":    nameOfKind,
	"rate":    significant,
	"span":    span,
	"age":     age,
	"ms":      milliseconds,
	"second":  func(t time.Time) template.HTML { return moment(formSecond, t) },
	"moment":  func(t *time.Time) template.HTML { return moment(formMinute, *t) },
	"minute":  func(t time.Time) template.HTML { return moment(formMinute, t) },
	"until":   until,
	"name":    name,
	"who":     func(name string) string { return strings.TrimPrefix(name, "oidc:") },
	"agent":   agent,
	"slug":    func(words string) string { return strings.ToLower(strings.ReplaceAll(words, " ", "-")) },
	"unitof":  func(name string) unit.Name { return unit.Name(strings.Split(name, ".")[1]) },
	"utc":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"date":    func(t time.Time) template.HTML { return moment(formDay, t) },
	"day":     dayText,
	"seg":     url.PathEscape,
	"lower":   strings.ToLower,
	"dotted":  dotted,
	"hidden":  recent.Hidden,
	"plain":   unmasked.Replace, // for pages that package console renders; our own are unmasked as a whole
	"limit":   newLimitRow,
	"pages":   func(p access.Person) []entry { return entries(p, "") },
	"list":    func(v ...any) []any { return v },
}

// moneyFunctions are the functions that format amounts of money.
func moneyFunctions(m unit.Money) template.FuncMap {
	return template.FuncMap{
		"own":    func(k teams.Key, word string) string { return ownLimits(&k, unit.Currency{Word: word, Money: m}) },
		"money":  func(n int64) template.HTML { return money(m, n, 2) },
		"cost":   func(n int64) template.HTML { return money(m, n, 4) },
		"amount": func(name unit.Name, n int64) template.HTML { return amount(m, name, n) },
		"charge": func(m unit.Money, a unit.Amounts) template.HTML { return money(m, a[unit.Spend], 4) },
	}
}

// agent returns the browser and the system of a user agent, or the first word of another program's.
func agent(text string) string {
	name := func(words ...string) string {
		for i := 0; i < len(words); i += 2 {
			if _, rest, found := strings.Cut(text, words[i]); found {
				version, _, _ := strings.Cut(rest, ".")
				if strings.Trim(version, "0123456789") == "" && strings.HasSuffix(words[i], "/") && version != "" {
					return words[i+1] + " " + version
				}
				return words[i+1]
			}
		}
		return ""
	}
	browser := name("Edg/", "Edge", "OPR/", "Opera", "Firefox/", "Firefox", "Chrome/", "Chrome", "Version/", "Safari")
	if browser == "" {
		word, _, _ := strings.Cut(text, " ")
		return word
	}
	if system := name("Android", "Android", "iPhone", "iPhone", "iPad", "iPad", "Windows", "Windows", "Mac OS X", "macOS", "CrOS", "ChromeOS",
		"Linux", "Linux"); system != "" {
		return browser + " on " + system
	}
	return browser
}

// longName is the number of characters up to which a name is never broken into lines.
const longName = 11

// name writes a name. A long name may be broken into lines, or cut, if its table has no room.
func name(text string) template.HTML {
	escaped := template.HTMLEscapeString(text)
	open := `<bdi class="name">`
	if utf8.RuneCountInString(text) > longName {
		open = `<bdi class="name long" title="` + escaped + `">`
	}
	return template.HTML(open + escaped + `</bdi>`) //nolint:gosec // it is escaped
}

// dotted allows line breaks after the dots, underscores and slashes of a name.
func dotted(name string) template.HTML {
	breaks := strings.NewReplacer(".", ".<wbr>", "_", "_<wbr>", "/", "/<wbr>")
	return template.HTML(breaks.Replace(template.HTMLEscapeString(name))) //nolint:gosec // it is escaped
}

// whole converts any signed integer type.
func whole(n any) int64 { return reflect.ValueOf(n).Int() }

// The forms of a moment; a script shows the same parts in the person's own time.
const (
	formSecond = "second" // 22 Nov 18:04:05
	formMinute = "minute" // 22 Nov 2026, 18:04
	formDay    = "day"    // 22 Nov 2026
	formClock  = "clock"  // 18:04
)

var layouts = map[string]string{formSecond: "2 Jan 15:04:05", formMinute: "2 Jan 2006, 15:04", formDay: "2 Jan 2006", formClock: "15:04"}

// moment writes a time in UTC, with the full time in the tooltip.
func moment(form string, t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	t = t.UTC()
	return template.HTML(`<time data-form="` + form + `" datetime="` + t.Format("2006-01-02T15:04:05.000Z") + //nolint:gosec // digits
		`" title="` + t.Format("2006-01-02 15:04:05 UTC") + `">` + t.Format(layouts[form]) + ` UTC</time>`)
}

// until writes when a raise ends: "midnight" if that is the end of today in UTC.
func until(end, now time.Time) template.HTML {
	if end = end.UTC(); !end.Equal(midnight(now).AddDate(0, 0, 1)) {
		return moment(formMinute, end)
	}
	return template.HTML(`<time datetime="` + end.Format(time.RFC3339) + //nolint:gosec // digits
		`" title="` + end.Format("2006-01-02 15:04:05 UTC") + `">midnight</time>`)
}

// dayText formats a day of the ledger, in UTC: 21 Nov.
func dayText(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return t.Format("2 Jan")
}

// spanText formats the first and the last of some days: on 22 Nov 2026; 1 Nov to 22 Nov 2026; 23 Nov 2025 to 22 Nov 2026.
func spanText(from, to string) string {
	first, errFirst := time.Parse(time.DateOnly, from)
	last, errLast := time.Parse(time.DateOnly, to)
	const withYear = "2 Jan 2006"
	switch {
	case errFirst != nil || errLast != nil:
		return from + " to " + to
	case from == to:
		return "on " + last.Format(withYear)
	case first.Year() == last.Year():
		return first.Format("2 Jan") + " to " + last.Format(withYear)
	}
	return first.Format(withYear) + " to " + last.Format(withYear)
}

// dayToday returns today in UTC, as the ledger names it.
func dayToday(now time.Time) string { return midnight(now).Format(time.DateOnly) }

// midnight returns the start of a moment's day, in UTC.
func midnight(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }

// entry is a link of the navigation.
type entry struct {
	Name, Path string
	Here       bool
}

// address returns a path with those parameters that are not empty.
func address(path string, parameters map[string]string) string {
	q := url.Values{}
	for name, value := range parameters {
		if value != "" {
			q.Set(name, value)
		}
	}
	return path + "?" + q.Encode()
}

// keyURL returns the address of a key's page.
func keyURL(team, key string) string {
	return "/teams/" + url.PathEscape(team) + "/keys/" + url.PathEscape(key)
}

// entries returns the pages that a person may open; here is the path of the current one.
func entries(p access.Person, here string) (list []entry) {
	for _, n := range figures.Pages {
		if p.Role != 0 && !n.Within && (!n.Restricted || p.SeesAll()) {
			list = append(list, entry{n.Name, n.Path, here == n.Path || strings.HasPrefix(here, n.Path+"/")})
		}
	}
	return list
}
