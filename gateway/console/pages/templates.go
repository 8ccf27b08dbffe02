package pages

import (
	"embed"
	"html/template"
	"net/url"
	"path"
	"reflect"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/pages/chart"
)

//go:embed templates
var templateFiles embed.FS

// templates has a set for each page: its own file, the layout and the parts.
var templates = parseTemplates()

func parseTemplates() map[string]*template.Template {
	shared := template.Must(template.New("shared").Funcs(functions).ParseFS(templateFiles, "templates/shared/*.html"))
	files, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(err) // they are embedded
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

// Door returns the templates "login" and "sessions" of the pages before and beside the others. "login" shows Problem, SignOn and
// Next; "sessions" shows Person, Role and Sessions, each with ID, Who, Role, Client, Agent, Began, Ends and Own.
func Door() *template.Template {
	return template.Must(template.Must(template.New("shared").Funcs(functions).ParseFS(templateFiles, "templates/shared/*.html")).ParseFS(templateFiles, "templates/door/*.html"))
}

// unmasked shows the characters that would turn the order of what follows, so that a text cannot look like another one. Marks
// of direction, which Arabic and Hebrew need, stay.
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
	"number":  func(i int) int { return i + 1 },
	"percent": percent,
	"share":   chart.Share,
	"money":   func(n int64) template.HTML { return money(n, 2) },
	"cost":    func(n int64) template.HTML { return money(n, 4) },
	"amount":  amount,
	"rate":    significant,
	"span":    span,
	"ms":      milliseconds,
	"second":  func(t time.Time) template.HTML { return moment(formSecond, t) },
	"minute":  func(t time.Time) template.HTML { return moment(formMinute, t) },
	"date":    func(t time.Time) template.HTML { return moment(formDay, t) },
	"day":     dayText,
	"seg":     url.PathEscape,
	"lower":   strings.ToLower,
	"dotted":  dotted,
	"plain":   unmasked.Replace, // in pages that others render; the rest is replaced as a whole
	"limit":   newLimitRow,
	"pages":   func(p access.Person) []entry { return entries(p, "") },
	"list":    func(v ...any) []any { return v },
}

// dotted lets a line break behind the dots and underscores of a name.
func dotted(name string) template.HTML {
	return template.HTML(strings.NewReplacer(".", ".<wbr>", "_", "_<wbr>").Replace(template.HTMLEscapeString(name))) //nolint:gosec // it is escaped
}

// whole is any kind of whole number.
func whole(n any) int64 { return reflect.ValueOf(n).Int() }
