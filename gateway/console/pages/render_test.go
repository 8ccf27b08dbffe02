package pages_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// paths are all pages of a gallery, by name.
func (g *gallery) paths() map[string]string {
	all := map[string]string{
		"now": "/now", "now-day": "/now?span=day", "teams": "/teams", "teams-none": "/teams?find=zzz", "new": "/new-team", "tasks": "/tasks",
		"tasks-none": "/tasks?team=zzz",
		"requests":   "/requests", "requests-fault": "/requests?from=zzz", "latency": "/latency",
		"latency-day": "/latency?span=day&by=endpoint&what=sluice", "search": "/search?q=a",
		"search-none": "/search?q=4bf92f3577b34da6a3ce929d0e0e4736", "money": "/money", "money-day": "/money?by=day&team=search",
		"money-kind": "/money?by=kind", "money-fault": "/money?from=zzz", "accounts": "/accounts", "money-account": "/money?by=account",
		"rules": "/rules", "audit": "/audit", "audit-verify": "/audit?verify=1", "config": "/config", "absent": "/zzz",
		"deliveries": "/events", "deliveries-none": "/events?hook=none",
	}
	if len(g.list) > 0 {
		all["deliveries-team"], all["deliveries-hook"], all["deliveries-operators"] = "/events?team=search",
			"/events?state=waiting&hook=jobs&team=search", "/events?team=%40operators"
		all["deliveries-bare"] = "/events?team=" + g.list[len(g.list)-1].ID
		all["team"], all["edit"] = "/teams/"+g.list[0].ID, "/teams/"+g.list[0].ID+"/edit"
		all["key"], all["key-page"] = all["team"]+"/keys/7f3k9q2m4x00/edit", all["team"]+"/keys/7f3k9q2m4x00"
		all["key-token"], all["money-key"] = all["team"]+"/keys/jwt:system:serviceaccount:search:indexer", "/money?by=key"
	}
	for _, line := range g.list {
		if line.Keys > 1 && line.Owner == teams.OwnerDirectory {
			all["key-idle"] = "/teams/" + line.ID + "/keys/7f3k9q2m4x01"
		}
	}
	if len(g.list) > 6 {
		all["team-file"], all["team-disabled"], all["edit-file"] = "/teams/"+g.list[1].ID, "/teams/"+g.list[6].ID, "/teams/"+g.list[1].ID+"/edit"
	}
	for i := range min(len(g.tasks), 7) {
		all["task-"+strings.ToLower(g.tasks[i].State)] = "/teams/" + g.tasks[i].Team + "/tasks/" + g.tasks[i].ID
	}
	if len(g.requests) > 0 {
		all["request"], all["refusals"], all["refusals-limit"] = "/requests/"+g.requests[0].ID, "/refusals", "/refusals?by=limit"
		all["requests-more"] = "/requests?rule=text.top_p&status=4xx"
	}
	if len(g.requests) > 7 {
		all["request-limit"], all["request-rules"] = "/requests/"+g.requests[4].ID, "/requests/"+g.requests[7].ID
	}
	return all
}

// TestEveryPageIsWellMade: in every gallery every page is complete, and has nothing that the content policy forbids.
func TestEveryPageIsWellMade(t *testing.T) {
	for room, g := range galleries() {
		if testing.Short() && room == "thousand" {
			continue
		}
		for _, p := range []access.Person{operator, {Name: "v", Role: access.Viewer},
			{Name: "m", Role: access.Member, Teams: []string{"search"}}} {
			h := g.handler(p)
			for name, path := range g.paths() {
				w := get(t, h, path)
				if w.Code >= 500 || !strings.HasSuffix(strings.TrimSpace(w.Body.String()), "</html>") {
					t.Fatalf("%s %s: %d %s", room, name, w.Code, w.Body.String())
				}
				for _, fault := range faultsOf(parse(t, w)) {
					t.Errorf("%s, %s as %d: %s", room, path, p.Role, fault)
				}
			}
		}
	}
}

func faultsOf(root *html.Node) (faults []string) {
	ids := map[string]bool{}
	for _, n := range all(root, "") {
		for _, a := range n.Attr {
			switch {
			case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
				faults = append(faults, "inline "+a.Key+" at "+n.Data)
			case a.Key == "id" && ids[a.Val]:
				faults = append(faults, "two elements have the id "+a.Val)
			case a.Key == "id":
				ids[a.Val] = true
			case (a.Key == "href" || a.Key == "src" || a.Key == "action") && strings.Contains(a.Val, "ZgotmplZ"):
				faults = append(faults, "an address is not one: "+a.Val)
			}
		}
		if n.Data == "style" || n.Data == "script" && (attribute(n, "src") == "" || n.FirstChild != nil) {
			faults = append(faults, "inline "+n.Data)
		}
	}
	if n := len(all(root, "h1")); n != 1 {
		faults = append(faults, "not one h1")
	}
	return faults
}
