package teams

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"sluice/policy/event"
)

const (
	maxHooks = 20 // of one owner
	hookURL  = "an address such as https://jobs.example/hook, without user and fragment; http on this machine, or with insecure: true"
)

var (
	hookEvents = word[event.Pattern](fmt.Sprintf("*, task.*, quota.*, or a type of %s", anyOf(event.Types)), event.IsPattern)
	hookKind   = choice(event.Slack)
)

// readHooks reads the hooks of a team, which replace those of the defaults, or the operators'.
func readHooks(n node) (all []event.Hook) {
	if n.isNone() {
		return nil
	}
	n.items("a list of hooks, or none", func(item node) {
		h := readHook(item)
		if slices.ContainsFunc(all, func(o event.Hook) bool { return o.ID == h.ID }) && h.ID != "" {
			item.refuse(h.ID, "each id once among the hooks of a team, and among the operators'")
		}
		all = append(all, h)
	})
	n.atMost(maxHooks, len(all), "hooks")
	return all
}

func readHook(n node) (h event.Hook) {
	var address node
	given := n.fields(
		must("id", one(&h.ID, ownID)),
		must("url", func(v node) {
			h.URL, _ = scalar(v.ast)
			address = v
		}),
		may("events", some(&h.Events, "types of events", hookEvents)),
		may("secret_file", func(v node) {
			path, _ := read(v, filePath)
			h.Secrets = append(h.Secrets, path)
		}),
		may("secrets", func(v node) { h.Secrets = append(h.Secrets, list(v, "paths of files", filePath, "each file once")...) }),
		may("insecure", one(&h.Insecure, flag)),
		may("kind", one(&h.Kind, hookKind)),
	)
	if given["url"] && !event.IsHookURL(h.URL, h.Insecure) {
		address.fault(Fault{Given: "another text (not shown: it may be a secret)", Allowed: hookURL})
	}
	if given["secret_file"] && given["secrets"] {
		n.fault(Fault{Given: "secret_file beside secrets", Allowed: "one of them"})
	} else if misfit, allowed := h.Misfit(); misfit != "" && given != nil {
		n.fault(Fault{Given: misfit, Allowed: allowed})
	}
	return h
}

// readAlert reads the per cent of quotas whose passing is reported.
func readAlert(n node) (alert []int) {
	if n.isNone() {
		return nil
	}
	alert = list(n, "per cent", percent, "each once")
	if n.ast.Type() == ast.SequenceType && !slices.IsSorted(alert) {
		n.fault(Fault{Given: "per cent that do not rise", Allowed: "the smallest first"})
	}
	return alert
}
