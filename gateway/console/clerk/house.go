package clerk

import (
	"context"
	"slices"
	"strings"

	"sluice/gateway/console/access"
	"sluice/gateway/console/pages"
	"sluice/gateway/console/registry"
	"sluice/policy"
	"sluice/policy/directory"
)

// house is what concerns the gateway as a whole.
type house struct{ Deps }

// auditPage is how many entries a page of the audit has.
const auditPage = 100

// Rules implements [pages.House]. The table is there also if the counts cannot be read.
func (h house) Rules(ctx context.Context, p access.Person, day bool) (out pages.Rules, err error) {
	counts, unread := h.Figures.Rules(ctx, p, day)
	out.Counted, out.Since, out.Refused = unread == nil, counts.Since, counts.Refused
	for _, r := range policy.Table(h.Prefix) {
		mode, n := h.Modes.Of(r.ID, r.Mode), counts.Broken[r.ID]
		out.Table = append(out.Table, pages.Rule{
			ID: r.ID, When: r.When, Field: r.Field, Allowed: r.Allowed, From: plain(r.From), Mode: string(mode), Set: mode != r.Mode,
			Warned: n.Warned, Refused: n.Refused,
		})
	}
	return out, nil
}

// plain returns a sentence of the service's document as people read it: without the place before it and the strokes of a table.
func plain(from string) string {
	if place, rest, found := strings.Cut(from, ": "); found && len(place) == 1 {
		from = rest
	}
	cells := strings.Split(from, "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return strings.Join(slices.DeleteFunc(cells, func(cell string) bool { return cell == "" }), " · ")
}

// Audit implements [pages.House].
func (h house) Audit(ctx context.Context, p access.Person, team string, before int64) ([]directory.Entry, bool, error) {
	list, more, err := h.Registry.Audit(ctx, p, registry.AuditQuery{Team: team, Before: before, Most: auditPage})
	return list, more, told(err)
}

// Proof implements [pages.House]. A change that is made meanwhile is no fault: the audit is read again.
func (h house) Proof(ctx context.Context, p access.Person) (out pages.Proof, err error) {
	if !p.SeesAll() {
		return out, told(&registry.Error{Kind: registry.Forbidden, Text: "this is about all teams", Advice: "ask an operator"})
	}
	proof, is, err := directory.Prove(ctx, h.Deps.Audit)
	if err != nil {
		return out, err
	}
	return pages.Proof{Entries: int(proof.Count), Head: is.Head(), Faults: proof.Verify(is)}, nil
}

// Config implements [pages.House].
func (h house) Config(_ context.Context, p access.Person) (pages.Config, error) {
	if !p.SeesAll() {
		return pages.Config{}, told(&registry.Error{Kind: registry.Forbidden, Text: "this is about all teams", Advice: "ask an operator"})
	}
	return h.Deps.Config(), nil
}
