package pages_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"sluice/cmd/sluice/browsertest"
	"sluice/gateway/console/access"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// browse serves pages to a tab of the browser.
func browse(t *testing.T, h http.Handler) (ctx context.Context, address string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close) // after the tab, whose end ends live parts
	return browsertest.Tab(t), server.URL
}

// as serves pages to a person.
func as(h http.Handler, p access.Person) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(access.With(r.Context(), p)))
	})
}

// get is one page.
func get(t testing.TB, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	return w
}

// parse reads a page.
func parse(t *testing.T, w *httptest.ResponseRecorder) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(w.Body.String()))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// all are the elements of a page with this name; "": all elements.
func all(root *html.Node, name string) (list []*html.Node) {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && (name == "" || n.Data == name) {
			list = append(list, n)
		}
	}
	return list
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// post sends a form.
func post(t *testing.T, h http.Handler, path string, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// formOf returns what a browser would send for the form with this action.
func formOf(t *testing.T, root *html.Node, action string) url.Values {
	t.Helper()
	for _, form := range all(root, "form") {
		if attribute(form, "action") != action {
			continue
		}
		values := url.Values{}
		for _, n := range all(form, "") {
			name, value := attribute(n, "name"), attribute(n, "value")
			switch {
			case name == "", attribute(n, "type") == "checkbox" && !slices.ContainsFunc(n.Attr,
				func(a html.Attribute) bool { return a.Key == "checked" }):
				continue
			case n.Data == "textarea" && n.FirstChild != nil:
				value = n.FirstChild.Data
			}
			values.Add(name, value)
		}
		return values
	}
	t.Fatalf("no form of %s", action)
	return nil
}

// byID is the element with an id.
func byID(t *testing.T, root *html.Node, id string) *html.Node {
	t.Helper()
	for _, n := range all(root, "") {
		if attribute(n, "id") == id {
			return n
		}
	}
	t.Fatalf("no element has the id %s", id)
	return nil
}

// rows are the rows of the page's first table.
func rows(root *html.Node) int {
	if bodies := all(root, "tbody"); len(bodies) > 0 {
		return len(all(bodies[0], "tr"))
	}
	return 0
}

// next returns the next page's address; empty on the last page.
func next(root *html.Node) string {
	for _, a := range all(root, "a") {
		if attribute(a, "rel") == "next" {
			path, _, _ := strings.Cut(attribute(a, "href"), "#")
			return path
		}
	}
	return ""
}
