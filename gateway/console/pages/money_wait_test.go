package pages_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/gateway/console/pages"
)

// adding has the sums of all days after some calls.
type adding struct {
	pages.Figures
	questions *atomic.Int64
}

func (a adding) Money(ctx context.Context, p access.Person, q figures.MoneyQuery) (figures.Money, error) {
	if a.questions.Add(-1) >= 0 {
		return figures.Money{}, &figures.AddingError{Missing: 100, Days: 400}
	}
	return a.Figures.Money(ctx, p, q)
}

// TestMoneyIsAddedUp: while past days are added up, Money and its file report that, with Retry-After; afterwards they are complete.
func TestMoneyIsAddedUp(t *testing.T) {
	g, questions := day(12), atomic.Int64{}
	questions.Store(2)
	deps := g.deps()
	deps.Figures = adding{deps.Figures, &questions}
	site := pages.New(deps)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site.ServeHTTP(w, r.WithContext(access.With(r.Context(), operator)))
	})
	const want = "Past days are being added up: 300 of 400 are ready. Come again in a minute, or look at fewer days."
	for _, path := range []string{"/money", "/money.csv"} {
		got := get(t, h, path)
		if text := textOf(parse(t, got)); got.Code != http.StatusServiceUnavailable || !strings.Contains(text, want) ||
			strings.Contains(text, "Forecast") {
			t.Errorf("%s: %d %s", path, got.Code, text)
		}
	}
	for _, path := range []string{"/money", "/money.csv"} {
		if got := get(t, h, path); got.Code != http.StatusOK || strings.Contains(got.Body.String(), "being added up") {
			t.Errorf("%s later: %d %s", path, got.Code, got.Body)
		}
	}
}
