package pages_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"sluice/cmd/sluice/browsertest"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// TestPicturesOfTheManual draws the pictures of docs/console.md, of a gallery that is always the same. The manual has the command.
func TestPicturesOfTheManual(t *testing.T) {
	if os.Getenv("SCREENSHOTS") == "" {
		t.Skip("SCREENSHOTS is not set")
	}
	pictures := httptest.NewServer(http.HandlerFunc(picture))
	t.Cleanup(pictures.Close)
	g := manual()
	g.pictures = pictures.URL
	server := httptest.NewServer(g.handler(operator))
	t.Cleanup(server.Close)
	ctx := browsertest.New(t)
	light, dark, narrow := look{"light", 1280, "light"}, look{"dark", 1280, "dark"}, look{"narrow", 390, "light"}
	if err := chromedp.Do(ctx, chromedp.Func(inUTC)); err != nil {
		t.Fatal(err)
	}
	paths := g.paths()
	for _, p := range []struct {
		name, path string
		look       look
	}{
		{"now", paths["now"], light},
		{"team", paths["team"], light},
		{"task", paths["task-succeeded"], light},
		{"requests", paths["requests"], dark},
		{"money", "/money?from=2026-10-24&to=2026-11-22", narrow},
	} {
		p.look.show(ctx, t)
		browsertest.Open(ctx, t, server.URL+p.path)
		browsertest.Picture(ctx, t, p.name)
	}
}

// inUTC puts the browser into a time zone that is the same everywhere.
func inUTC(ctx context.Context, t *chromedp.Target) error {
	_, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"})
	return err
}

// manual is a day whose figures agree with each other on all pictures.
func manual() *gallery {
	g := dayWith(12, "checkout")
	first := &g.list[0]
	first.Description = "Full text, pictures and recommendations of the shop"
	first.Tightest = &standings()[4]
	month := int64(0)
	for _, d := range g.days {
		if d.Name >= "2026-11-01" {
			month += d.Used[limit.Spend] / g.now.Today.Used[limit.Requests] * first.Today.Used[limit.Requests]
		}
	}
	g.limits = standings()
	for i, most := range map[int]int64{2: 2000, 3: 60 * teams.Nano, 4: 2400 * teams.Nano} {
		l := &g.limits[i]
		l.Limit, l.Used, l.Held = most, first.Today.Used[limit.Images], 12
		if l.Unit == teams.UnitSpend {
			l.Used, l.Held = first.Today.Used[limit.Spend], 12*teams.Nano/5
		}
		if l.Period == teams.PeriodMonth {
			l.Used = month
		}
		l.Left = l.Limit - l.Used - l.Held
	}
	return g
}
